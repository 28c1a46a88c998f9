"""queuepool protocol: the Lua of the verbs, as servers run it.

Needs no server: the scripts are part of this package.
"""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import Actions
from queuepool.cli.display import output
from queuepool.cli.exits import Exit
from queuepool.verbs.scripts import names, script


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool protocol`."""
    showing = Actions(parser).add("show", show, "show the script of a verb, or list all verbs")
    showing.add_argument("verb", metavar="VERB", nargs="?", choices=names(), help="default: list")


def show(arguments: argparse.Namespace) -> Exit:
    """Print the text that servers run for a verb, its parts included; without one, every verb."""
    if arguments.verb:
        output.say(*script(arguments.verb).source.decode().splitlines())
    else:
        width = max(map(len, names()))
        for name in names():
            output.say(f"{name:{width}}  {script(name).summary}")
    return Exit.OK
