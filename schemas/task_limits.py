"""Default limit of a task, for the folds and the views of the history. Imports no other module."""

MAX_ITERATION = 10
"""Iterations of a task without a limit, unless the generation has another default."""
