"""Verbs of applications: enqueue, ask, cancel; and what confirms an enqueue. Pure."""
