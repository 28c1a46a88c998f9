"""Temporary directories of servers: each has a lock, and is removed once no one holds it.

A killed process removes nothing, but the kernel frees its lock, and the next process that creates a
temporary directory removes the leftover. A directory whose lock is held is in use; one without a
lock is not ours, or is about to be locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from queuepool.settings import private_files as private
from queuepool.settings.private_files import UnsafePathError

LOCK: Final = "embedded.lock"
_PREFIX = "queuepool-server-"
_MOST = 50  # leftovers that one start removes


def make() -> tuple[Path, IO[str]]:
    """Return a new private directory, and its lock file, held. Raises OSError."""
    _remove_left_ones()
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    # Renamed only once locked, or another start could take it for a leftover.
    unnamed = path / f"{LOCK}.new"
    lock_file = _open(unnamed)
    with suppress(OSError):  # a file system without locks: then leftovers stay
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unnamed.rename(path / LOCK)
    return path, lock_file


def open_lock(directory: Path) -> IO[str]:
    """Return the lock file of a directory, created if missing. Raises OSError."""
    return _open(directory / LOCK)


def _open(path: Path) -> IO[str]:
    return open(path, "a+", opener=private.opener)


def remove(path: Path) -> None:
    """Remove a temporary directory as far as possible."""
    shutil.rmtree(path, ignore_errors=True)


def _remove_left_ones() -> None:
    removed = 0
    for path in _candidates():
        with suppress(OSError, UnsafePathError):
            _remove_if_left(path)
            removed += 1
        if removed == _MOST:
            return


def _candidates() -> list[Path]:
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        return [Path(e.path) for e in entries if e.name.startswith(_PREFIX)]
    return []


def _remove_if_left(path: Path) -> None:
    """Remove a directory of ours whose lock is free. Raises OSError, UnsafePathError."""
    with private.open_directory(path) as directory:
        private.refuse_writable(directory, path)
        lock = private.open_entry(path / LOCK, directory)  # a new one is not ours
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Emptied through its descriptor: its name may lead elsewhere by now.
            names = os.listdir(directory)  # noqa: PTH208 - pathlib does not support descriptors
            for name in sorted(names, key=lambda name: name == LOCK):  # it goes last
                _remove_entry(name, directory)
            path.rmdir()
        finally:
            os.close(lock)


def _remove_entry(name: str, directory: int) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except (IsADirectoryError, PermissionError):  # the latter on macOS
        shutil.rmtree(name, dir_fd=directory)
