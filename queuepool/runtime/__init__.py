"""What the operating system gives a process, and what a forked child must not share."""
