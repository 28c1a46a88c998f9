"""What an owner does in its turns, one step per file; the owner (owner.py) orders them."""
