"""Temporary directories of servers: each with a lock, and removed when no one holds it any more.

A process that is killed removes nothing. Its lock is free then, by the kernel's doing, and whoever
makes the next temporary directory removes what it left. One whose lock is held is in use; one that
has no lock is none of ours, or its maker is just about to lock it.
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
_MOST = 50  # left ones that one start removes


def make() -> tuple[Path, IO[str]]:
    """Return a new directory of ours alone, and its lock file, held. Raises OSError."""
    _remove_left_ones()
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    # It gets its name only once it is held, or someone else's start could take it for left.
    unnamed = path / f"{LOCK}.new"
    lock_file = _open(unnamed)
    with suppress(OSError):  # a file system without locks: then no one removes what is left
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unnamed.rename(path / LOCK)
    return path, lock_file


def open_lock(directory: Path) -> IO[str]:
    """Return the lock file of a directory, made when it is missing. Raises OSError."""
    return _open(directory / LOCK)


def _open(path: Path) -> IO[str]:
    return open(path, "a+", opener=private.opener)


def remove(path: Path) -> None:
    """Remove a temporary directory, as far as it can be."""
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
        lock = private.open_entry(path / LOCK, directory)  # never made here: a new one is not ours
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Emptied by its descriptor: what its name leads to by now may be something else.
            names = os.listdir(directory)  # noqa: PTH208 - pathlib knows no descriptors
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
