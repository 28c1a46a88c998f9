"""One cycle over all partitions: from observations to actions. Pure."""
