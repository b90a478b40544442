"""Kafka: settings, topics and the transport (docs/kafka-tier.md)."""
