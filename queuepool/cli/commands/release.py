"""queuepool release: end the hold of a group, a task, a pool, a partition, or of all."""

from __future__ import annotations

import argparse

from queuepool.cli.commands import hold
from queuepool.cli.exits import Exit

DESCRIPTION = (
    "End the hold of a group, a task, a partition, a pool, or everything. Each hold is independent "
    "of the others."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool release`."""
    hold.declare(parser, "release")


def run(arguments: argparse.Namespace) -> Exit:
    """Release what the arguments name."""
    changed = hold.switch(arguments, on=False)
    return hold.told(arguments, changed, "released", "was not held")
