"""What an operator sees: metrics by Prometheus, logs as JSON, traces by OpenTelemetry."""
