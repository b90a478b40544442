"""Evaluation: how well memory is found, and how well an extractor fills it, on labelled data.

A labelled set (docs/evaluation.md) is a file of input records, questions with their evidence, and
observations: what a careful reader would have noted.
"""
