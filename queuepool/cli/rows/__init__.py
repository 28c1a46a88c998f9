"""Rows of files and streams as jobs with ids."""
