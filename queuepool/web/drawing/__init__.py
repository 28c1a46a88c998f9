"""Numbers, times and charts as text. Pure."""
