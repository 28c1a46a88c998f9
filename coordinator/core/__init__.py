"""One cycle over all partitions: what was seen in, what to do out. Pure."""
