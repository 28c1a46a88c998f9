"""Tables, live views and words for people."""
