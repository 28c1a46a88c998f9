"""Starts consumers and coordinators as processes, or becomes one.

The library imports neither; they are started by name, as programs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from queuepool.process.launch import keep_signals
from queuepool.telemetry import printing

# Handlers run in consumers, and must not get the permission to control them.
OF_OPERATORS = (
    *("COORDINATOR_GRPC_TOKEN", "COORDINATOR_GRPC_VIEWER_TOKEN"),
    *("QUEUEPOOL_WEB_TOKEN", "QUEUEPOOL_WEB_VIEWER_TOKEN", "QUEUEPOOL_WEB_SECRET"),
)
_PREFIX = (sys.executable, "-P", str(Path(__file__).with_name("launch.py")))


def command_line(name: str, arguments: Sequence[str], *, tied_to: int | None = None) -> list[str]:
    """Return the command that runs a consumer or a coordinator with its arguments.

    tied_to: the process id of the parent with which it ends.
    """
    tie = [] if tied_to is None else ["--tied-to", str(tied_to)]
    return [*_PREFIX, *tie, name, *arguments]


def forking(command: Sequence[str]) -> list[str]:
    """Return the command that runs a fork server for children with this command."""
    return [*_PREFIX, "--forks", *words_of(command)]


def words_of(command: Sequence[str]) -> list[str]:
    """Return what a command tells the launcher."""
    return list(command[len(_PREFIX) :])


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that handlers may see: all but operators' tokens and secrets."""
    return {name: value for name, value in environment.items() if name not in OF_OPERATORS}


def become(name: str, arguments: Sequence[str]) -> NoReturn:
    """Replace this process; does not return."""
    line = command_line(name, arguments)
    environment = without_secrets(os.environ) if name == "consumer" else os.environ
    printing.flush()
    keep_signals()
    os.execve(line[0], line, environment)
