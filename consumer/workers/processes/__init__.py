"""A pool of child processes: what a job does there costs that job alone."""
