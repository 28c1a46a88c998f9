"""The consumer: a process that owns one partition and runs its jobs on a pool that resizes."""
