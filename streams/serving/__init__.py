"""The HTTP API: documents, records, questions to the past; over files or Kafka (docs/http.md)."""
