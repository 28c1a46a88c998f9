"""Verbs of the leading coordinator: lead, command, checkpoint, record. Pure."""
