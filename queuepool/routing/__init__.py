"""From a partition key to a slot, a partition and its server. Pure."""
