"""What consumers and coordinators share when they start, and while they run."""
