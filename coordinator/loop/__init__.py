"""The thread around the core: who leads, what is observed, what is sent."""
