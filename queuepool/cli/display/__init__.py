"""Tables, live views and readable text."""
