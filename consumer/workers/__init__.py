"""The resizable pool of workers, and how one job is run."""
