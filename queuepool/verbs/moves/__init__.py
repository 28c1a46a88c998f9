"""Verbs that move task groups from one partition to another, each beside its wrapper."""
