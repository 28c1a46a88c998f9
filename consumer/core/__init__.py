"""What each turn of an owner sends and learns, without network, clock or threads. Pure."""
