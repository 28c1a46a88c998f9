"""The directory of an embedded server: used by one server at a time, and private to its user.

    EmbeddedServer --holds--> DATA_DIR/embedded.lock <--inherits-- the server process

The lock belongs to both: it is free only when neither is alive. So even a server orphaned by a
crash of its owner keeps a second one away from its files, and a temporary directory whose lock is
free is left over (`temporary`).
"""

from __future__ import annotations

import fcntl
import itertools
import os
import stat
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from queuepool.process.embedded import temporary
from queuepool.process.embedded.errors import EmbeddedServerError
from queuepool.settings import private_files as private
from queuepool.settings.private_files import UnsafePathError

_LOCK_TIMEOUT_S = 3.0  # a predecessor that is shutting down may need a moment
_POLL_S = 0.02
_LOG = "server.log"
_OWN = frozenset((temporary.LOCK, _LOG, "appendonlydir", "dump.rdb", "nodes.conf"))
_MOST_ENTRIES = 10_000


class ServerDirectory:
    """The directory of one server, ours until `release()`; temporary without a `data_dir`."""

    def __init__(self, data_dir: Path | None) -> None:
        self._is_temporary = data_dir is None
        self._log_start = 0
        if data_dir is None:
            try:
                self.path, self._lock_file = temporary.make()
            except OSError as error:
                raise EmbeddedServerError(
                    f"cannot create a temporary directory: {error.strerror or error}. Nothing "
                    "was started. Set TMPDIR to a directory that this user can write to."
                ) from error
            return
        self.path = data_dir.absolute()
        try:
            _make_private(self.path)
            self._lock_file = _lock(self.path)
        except UnsafePathError as error:
            raise EmbeddedServerError(f"{error} Nothing was started.") from error
        except OSError as error:
            raise EmbeddedServerError(
                f"{self.path} cannot be the server's data directory: {error.strerror or error}. "
                "Nothing was started. Choose a directory that this user can write to "
                "(--data-dir)."
            ) from error

    @property
    def lock_descriptors(self) -> list[int]:
        """The descriptors that the server process must inherit to share the lock."""
        return [self._lock_file.fileno()]

    def name_holder(self, holder: str) -> None:
        """Record who holds the directory, for the error message of a later process."""
        self._lock_file.truncate(0)
        self._lock_file.write(holder)
        self._lock_file.flush()

    def open_log(self) -> IO[bytes]:
        """Return the server's log for appending; `log_tail` returns what is written from now on."""
        # A file, not a pipe: a pipe that no one reads fills up and blocks the server.
        log = open(self.path / _LOG, "ab", opener=private.opener)  # noqa: SIM115
        self._log_start = log.tell()
        return log

    def log_tail(self, lines: int = 12) -> str:
        """Return the end of what the server has logged since `open_log`."""
        with (self.path / _LOG).open("rb") as log:
            log.seek(self._log_start)
            text = log.read(64_000).decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:]) or "(nothing)"

    def release(self) -> None:
        """Release the directory, and remove it if it is temporary."""
        if self._is_temporary:
            temporary.remove(self.path)
        self._lock_file.close()


def _make_private(path: Path) -> None:
    """Make the directory and a server's files in it private.

    A directory that also holds other files keeps its permissions unless others may write to it: it
    may be someone's home. The server's files in it become private nevertheless.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise
    with private.open_directory(path) as directory:
        private.refuse_shared_parent(directory, path)
        shared_before = bool(os.fstat(directory).st_mode & 0o022)
        names = os.listdir(directory)  # noqa: PTH208 - pathlib does not support descriptors
        if all(map(_is_own, names)):
            private.tighten(directory, path)
        else:
            private.refuse_writable(directory, path)
        _tighten_entries(directory, path, filter(_is_own, names), strict=shared_before)


def _is_own(name: str) -> bool:
    return name in _OWN or name.startswith("temp-")


def _tighten_entries(
    directory: int, path: Path, names: Iterable[str], *, strict: bool, depth: int = 1
) -> None:
    """Remove other users' permissions from entries, and from the content of directories.

    strict: others could write here until now, so a file's second hard link may be an attack.
    """
    for name in itertools.islice(names, _MOST_ENTRIES):
        entry = path / name
        try:
            opened = private.open_entry(entry, directory)
        except FileNotFoundError:  # a server that is being stopped removes its temporary files
            continue
        try:
            found = os.fstat(opened)
            if stat.S_ISDIR(found.st_mode):
                inside = strict or bool(found.st_mode & 0o022)
                private.tighten(opened, entry)
                if not depth:
                    continue
                within = os.listdir(opened)  # noqa: PTH208
                _tighten_entries(opened, entry, within, strict=inside, depth=depth - 1)
                continue
            private.refuse_irregular(found, entry)
            if strict:
                private.refuse_links(found, entry)
            private.tighten(opened, entry)
        finally:
            os.close(opened)


def _lock(directory: Path) -> IO[str]:
    lock_file = temporary.open_lock(directory)
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    pause = threading.Event()
    while True:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                pause.wait(_POLL_S)
                continue
            lock_file.seek(0)
            holder = lock_file.read(200) or "another process"
            lock_file.close()
            raise EmbeddedServerError(
                f"{directory} is in use by {holder}. Nothing was started and its data is "
                "untouched. Connect to that server, stop it, or use another data directory."
            ) from None
        return lock_file
