"""Observability: Prometheus metrics, JSON logs, OpenTelemetry traces."""
