"""What happened to a consumer, as metrics and as log lines."""
