"""`python -m queuepool` is the `queuepool` command."""

import sys

from queuepool.cli import main

if __name__ == "__main__":
    sys.exit(main())
