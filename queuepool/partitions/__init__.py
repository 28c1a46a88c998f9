"""Logical partitions on their servers, and the record of how many there are."""
