"""OpenTelemetry: the only place that imports it, and only when it is in use."""
