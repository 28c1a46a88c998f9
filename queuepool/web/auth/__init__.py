"""Who asks for a page, and what they may do."""
