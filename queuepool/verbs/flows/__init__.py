"""Scripts of batches: jobs with one continuation, which runs when they have ended."""
