"""Scripts of schedules: what is due when, and the firing of it."""
