"""The command line: every command with its arguments, and the function that runs it."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from importlib import import_module

from queuepool.cli.arguments import sentence
from queuepool.cli.commands import COMMANDS
from queuepool.cli.exits import epilogue
from queuepool.telemetry import printing

_DESCRIPTION = """\
Partitioned background jobs for bulk work, on Redis or Valkey.

Commands use the server in QUEUEPOOL_URL (or QUEUEPOOL_SERVERS), or else the cluster that
`queuepool up` runs in the current directory.
"""


def build_parser(words: Collection[str] | None = None) -> printing.ArgumentParser:
    """Return the parser of the whole command line.

    words: the command line; a command that is not in it is listed without its arguments, so that
    its module need not be imported. None: all commands are complete.
    """
    parser = printing.ArgumentParser(
        prog="queuepool",
        description=_DESCRIPTION,
        epilog=epilogue(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for command in COMMANDS:
        own = commands.add_parser(
            command.name,
            help=command.help,
            description=sentence(command.help),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if command.module is not None and (words is None or command.name in words):
            module = import_module(f"queuepool.cli.commands.{command.module}")
            own.description = getattr(module, "DESCRIPTION", own.description)
            own.set_defaults(run=getattr(module, "run", None))  # actions name their own
            module.declare(own)
    return parser


def _version() -> str:
    from queuepool import __version__

    return f"queuepool {__version__}"
