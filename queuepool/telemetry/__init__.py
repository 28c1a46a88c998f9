"""What processes tell: typed events, log lines, and HTTP for metrics and health."""
