"""Verbs of the log: write entries, read them."""
