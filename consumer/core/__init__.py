"""What each turn of an owner says and learns, without network, clock or threads. Pure."""
