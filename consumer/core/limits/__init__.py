"""Limits of jobs, as one owner meets them: gates, tokens and permits, and what to ask. Pure."""
