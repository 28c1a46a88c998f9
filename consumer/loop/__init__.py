"""The threads around the core: stand by, own a partition, take turns, watch that they continue."""
