"""Kafka: settings, topics and the transport (design 05)."""
