"""What the loop knows after a cycle, for all other threads."""
