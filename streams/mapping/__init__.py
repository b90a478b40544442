"""Maps events of other formats to input records (docs/mapping.md)."""
