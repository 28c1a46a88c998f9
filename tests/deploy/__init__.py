"""What deploy/ promises: files that agree with the settings, and with each other."""
