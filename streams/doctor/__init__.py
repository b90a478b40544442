"""Checks of `turnfold admin doctor`. Each module checks one part of an installation, read-only, and
yields findings (docs/operations.md)."""
