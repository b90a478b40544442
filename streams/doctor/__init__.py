"""Checks of `turnfold admin doctor`. Each module checks one part of an installation, changes
nothing, and yields findings (docs/operations.md)."""
