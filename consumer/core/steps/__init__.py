"""What an owner does in its turns, a step a file; the owner (owner.py) takes them in order."""
