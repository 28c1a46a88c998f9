"""Where commands get their answers: the coordinator, or the servers themselves."""
