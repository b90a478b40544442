"""Memory rebuilt beside the live one, compared, and switched to (docs/backfill.md)."""
