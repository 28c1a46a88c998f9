"""Verbs of limits, at the home of each: what owners ask, what people set. Pure."""
