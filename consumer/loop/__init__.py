"""The threads around the core: stand by, own a partition, take turns, watch for progress."""
