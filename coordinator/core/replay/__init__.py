"""Cycles of a leader, written down, decided again, and decided otherwise. Pure."""
