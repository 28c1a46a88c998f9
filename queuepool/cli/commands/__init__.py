"""One file a command of `queuepool`: what it asks, and what it prints."""
