"""Recipes of CONTRIBUTING.md, followed: each adds something to a copy of the repository."""
