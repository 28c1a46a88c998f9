"""The loop's knowledge after a cycle, for all other threads."""
