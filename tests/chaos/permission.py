"""Permission to freeze: a supervisor gives it to a process, and one job in there takes it."""

from __future__ import annotations

import os
from pathlib import Path


def give(directory: Path, pid: int) -> None:
    """Let one job of a process freeze it."""
    _path(directory, pid).touch()


def take(directory: Path) -> bool:
    """Return whether this process may freeze now; it may not a second time."""
    try:
        _path(directory, os.getpid()).unlink()
    except FileNotFoundError:
        return False
    return True


def _path(directory: Path, pid: int) -> Path:
    return directory / f"permission-{pid}"
