"""The pages: what each shows, and what can be done there."""
