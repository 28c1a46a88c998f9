"""Where an embedded server keeps its files, and that only one server does.

    EmbeddedServer --holds--> DATA_DIR/embedded.lock <--inherits-- the server process

The lock belongs to both: it is free only when neither of them is alive. So even a server
orphaned by a crash of its owner keeps a second one away from its files.
"""

import fcntl
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from queuepool.embedded.errors import EmbeddedServerError

_LOCK_TIMEOUT_S = 3.0  # a predecessor that is just being shut down may need a moment
_POLL_S = 0.02


class ServerDirectory:
    """The directory of one server, ours until `release()`; temporary without a `data_dir`."""

    def __init__(self, data_dir: Path | None) -> None:
        self._lock_file: IO[str] | None = None
        self._log_start = 0
        if data_dir is None:
            try:
                self.path = Path(tempfile.mkdtemp(prefix="queuepool-server-"))
            except OSError as error:
                raise EmbeddedServerError(
                    f"no temporary directory can be made: {error.strerror or error}. Nothing was "
                    "started. Set TMPDIR to one that this user can write to."
                ) from error
        else:
            self.path = data_dir.absolute()
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._lock_file = _lock(self.path)
            except OSError as error:
                raise EmbeddedServerError(
                    f"{self.path} cannot be the server's data directory: {error.strerror or error}."
                    " Nothing was started. Choose one that this user can write to (--data-dir)."
                ) from error

    @property
    def lock_descriptors(self) -> list[int]:
        """The descriptors that the server process must inherit to share the lock."""
        return [self._lock_file.fileno()] if self._lock_file else []

    def name_holder(self, holder: str) -> None:
        """Leave a word for the one who comes next and finds the directory locked."""
        if self._lock_file is not None:
            self._lock_file.truncate(0)
            self._lock_file.write(holder)
            self._lock_file.flush()

    def open_log(self) -> IO[bytes]:
        """Return the server's log for appending; `log_tail` speaks of what comes from now on."""
        # A file and not a pipe: a pipe that nobody reads fills up and stops the server.
        log = (self.path / "server.log").open("ab")
        self._log_start = log.tell()
        return log

    def log_tail(self, lines: int = 12) -> str:
        """Return the end of what the server has logged since `open_log`."""
        with (self.path / "server.log").open("rb") as log:
            log.seek(self._log_start)
            text = log.read(64_000).decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:]) or "(nothing)"

    def release(self) -> None:
        """Give the directory free, and remove it when it was temporary."""
        if self._lock_file is None:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self._lock_file.close()


def _lock(directory: Path) -> IO[str]:
    lock_file = (directory / "embedded.lock").open("a+")
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
            holder = lock_file.read() or "another process"
            lock_file.close()
            raise EmbeddedServerError(
                f"{directory} is in use by {holder}. Nothing was started and its data is "
                "untouched. Connect to that server, stop it, or choose another data directory."
            ) from None
        return lock_file
