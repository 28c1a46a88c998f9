"""A coordinator's events as metrics and as log lines."""
