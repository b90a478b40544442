"""A task's limit that the folds and the views of the history both go by. Imports nothing."""

MAX_ITERATION = 10
"""Iterations of a task that does not say its own limit, unless a generation has another."""
