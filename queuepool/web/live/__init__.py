"""What moves on the pages: the latest observation, its past, and streams of updates."""
