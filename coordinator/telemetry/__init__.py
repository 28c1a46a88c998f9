"""What happened to a coordinator, as metrics and as log lines."""
