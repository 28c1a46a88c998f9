"""The processes of `queuepool up`: which ones, and keeping them running."""
