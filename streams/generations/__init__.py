"""Rebuilds memory as a generation next to the live one, compares and promotes it
(docs/backfill.md)."""
