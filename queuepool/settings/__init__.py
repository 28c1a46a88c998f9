"""Settings of every process, plain configuration, and the state file of `queuepool up`."""
