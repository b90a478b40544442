"""Measures retrieval and extraction on labelled data.

A labelled set (docs/evaluation.md) is a file of input records, questions with their evidence, and
observations: facts that a careful reader would note.
"""
