"""Verbs of operators and of the observing coordinator. Pure."""
