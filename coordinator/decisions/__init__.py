"""Decisions with their inputs, as they are kept."""
