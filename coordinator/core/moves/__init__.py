"""Slots that move from one partition to another: what the leading coordinator does for it."""
