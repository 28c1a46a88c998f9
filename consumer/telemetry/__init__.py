"""A consumer's events as metrics and as log lines."""
