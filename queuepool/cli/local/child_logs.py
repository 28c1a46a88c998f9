"""Child processes log to files; important lines are shown on the terminal.

Files rather than pipes: a child whose supervisor was killed can still write, and is never blocked
by a pipe that no one reads.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from queuepool.errors.escaping import stored_text, visible
from queuepool.errors.hindrances import LACKING
from queuepool.settings import private_files as private

_LEVEL = re.compile(r'^\S+ \S+ (\w+) |^\{.*"level": "(\w+)"')
_READY = "ready "
_OWNS = re.compile(r"\bconsumer\b.*\bowns \S+.* with \d+ workers\b")
_IMPORTANT = frozenset(("WARNING", "ERROR", "CRITICAL"))
_READ = 64 * 1024  # bytes per step: a child that floods its log cannot block the supervisor
_KEEP = 32 * 1024**2
_FOLLOWING = 30  # lines of a traceback that are shown
_PASSING = LACKING | {errno.EAGAIN}


class LogFile:
    """The log of one child: the child appends, and we read from where we began.

    ready: the latest line in which the child announced its address; "" before that.
    has_owned: whether the child has owned a partition, and so may have run handlers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        private.make_directory(path.parent)
        with self.open() as file:
            self._position = file.seek(0, 2)
        self._start = self._position
        self._rest = b""
        self._following = 0
        self._unreadable = False  # as was told
        self.ready, self.has_owned = "", False

    def forget(self) -> None:
        """Note that the child has ended: another may do otherwise."""
        self.ready, self.has_owned = "", False

    def open(self) -> IO[bytes]:
        """Return the file for a child to write to."""
        return _opened(self.path, "ab")

    def important(self) -> list[str]:
        """Return the new lines that people should see: warnings, errors and their tracebacks.

        A file that cannot be opened is read by a later call; why not is told once, unless the
        machine is short of something for a moment.
        """
        try:
            new = self._read_on()
        except OSError as error:
            if self._unreadable or error.errno in _PASSING:
                return []
            self._unreadable = True
            return [f"{self.path}: {error.strerror or error}; its warnings cannot be shown"]
        self._unreadable = False
        self._position += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        self._rest = self._rest[-_READ:]
        with suppress(OSError):
            self._rotate()
        return [text for line in lines if self._matters(text := stored_text(line))]

    def _read_on(self) -> bytes:
        with _opened(self.path, "rb") as file:
            if file.seek(0, 2) < self._position:  # another file, or it was emptied
                self._position = self._start = 0
                self._rest = b""
            file.seek(self._position)
            return file.read(_READ)

    def _matters(self, line: str) -> bool:
        if line.startswith(_READY):
            self.ready = line
        level = level_of(line)
        if level == "INFO" and _OWNS.search(line):
            self.has_owned = True
        if level is None:
            self._following -= 1
            return self._following >= 0 and bool(line.strip())
        self._following = _FOLLOWING if level in _IMPORTANT else 0
        return level in _IMPORTANT

    def _rotate(self) -> None:
        # The child appends, so it continues at the new end of the emptied file.
        if self._position > _KEEP:
            aside = self.path.with_suffix(".log.1")
            with _opened(self.path, "r+b") as file, _opened(aside, "wb") as kept:
                shutil.copyfileobj(file, kept)
                file.truncate(0)
            self._position = self._start = 0

    def last_lines(self, count: int) -> list[str]:
        """Return the end of what was logged since we began; nothing if it cannot be read."""
        try:
            with _opened(self.path, "rb") as file:
                size = file.seek(0, 2)
                file.seek(max(self._start, size - _READ))
                lines = stored_text(file.read()).split("\n")
        except OSError:
            return []
        return [visible(line.expandtabs(4)) for line in lines if line.strip()][-count:]


def _opened(path: Path, mode: str) -> IO[bytes]:
    file: IO[bytes] = open(path, mode, opener=private.opener)  # noqa: SIM115
    return file


@dataclass(slots=True)
class LineBudget:
    """Limits the lines shown of one child: 16,000 failing jobs must not hide the rest."""

    most: int = 20
    window_s: float = 5.0
    _since_s: float = field(default=float("-inf"), init=False)
    _shown: int = field(default=0, init=False)
    _left_out: int = field(default=0, init=False)

    def admit(self, lines: Sequence[str], now_s: float) -> tuple[Sequence[str], int]:
        """Return the lines to show now, and how many were omitted in a window that has ended."""
        left_out = 0
        if now_s - self._since_s >= self.window_s:
            left_out, self._left_out = self._left_out, 0
            self._since_s, self._shown = now_s, 0
        shown = lines[: self.most - self._shown]
        self._shown += len(shown)
        self._left_out += len(lines) - len(shown)
        return shown, left_out


def level_of(line: str) -> str | None:
    """Return the level of a line of our logs, text or JSON; None for any other line. Pure."""
    match = _LEVEL.match(line)
    if match is None:
        return None
    level = (match[1] or match[2]).upper()
    return level if level in _IMPORTANT | {"INFO", "DEBUG"} else None
