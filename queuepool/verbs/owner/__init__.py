"""Verbs of the owner of a partition: take it, claim, end jobs, recover. Pure."""
