"""A Redis Cluster: which node has a partition, and asking that one."""
