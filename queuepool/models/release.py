"""The version of this release, and of its protocol, below everything that names them."""

__version__ = "0.1.0"

# What the scripts of an owner know, as it reports: 1, that jobs which are copied to another
# partition stay as they are. One that reports none knows less.
PROTOCOL = 1
