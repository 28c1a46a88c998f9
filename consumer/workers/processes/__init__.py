"""A pool of child processes: a crash there affects only the job that caused it."""
