"""The HTTP API: documents, records, questions to the past; over files or over Kafka (design 03)."""
