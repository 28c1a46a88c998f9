"""What processes report: typed events, log lines, and HTTP for metrics and health."""
