"""Events of another shape than ours, as input records (docs/mapping.md)."""
