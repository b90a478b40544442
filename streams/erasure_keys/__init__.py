"""Keys per user and session: a destroyed key makes records unreadable that cannot be rewritten
(docs/erasure.md, "Keys for Kafka")."""
