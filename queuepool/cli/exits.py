"""How a command ends: its exit code, and a one-line reason."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from queuepool.errors import (
    ConfigurationError,
    InvalidInputError,
    QueuePoolError,
    UnavailableError,
    UnconfirmableError,
)


class Exit(IntEnum):
    """The exit codes of every `queuepool` command; scripts may rely on them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    DIED = 4
    UNATTENDED = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141

    @property
    def meaning(self) -> str:
        """Return the meaning of the code for scripts."""
        return _MEANINGS[self]


_MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "failed, or found a problem; see the message on standard error",
    Exit.USAGE: "invalid arguments, input or settings; nothing was done",
    Exit.UNAVAILABLE: "a server or the coordinator did not respond; running it again is safe",
    Exit.DIED: "finished, but some jobs died; `queuepool dead list` shows those still stored",
    Exit.UNATTENDED: (
        "shown, but no consumer runs, or jobs wait in a partition without an owner (`status`)"
    ),
    Exit.INTERRUPTED: "interrupted by Ctrl-C",
    Exit.BROKEN_PIPE: "the reader of the output closed the pipe",
}


class CommandError(Exception):
    """A command cannot do its work; the message is one line with a remedy.

    lines: the message, and further remarks, one line each.
    """

    def __init__(self, message: str, code: Exit = Exit.FAILED, more: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.code, self.lines = code, (message, *more)


def code_of(error: QueuePoolError) -> Exit:
    """Return the exit code of one of the library's errors."""
    if isinstance(error, UnconfirmableError):  # a setting is wrong, but something was already done
        return Exit.FAILED
    if isinstance(error, (ConfigurationError, InvalidInputError)):
        return Exit.USAGE
    return Exit.UNAVAILABLE if isinstance(error, UnavailableError) else Exit.FAILED


def epilogue() -> str:
    """Return the list of exit codes for `queuepool --help`."""
    lines = [f"  {code.value:>3}  {code.meaning}" for code in Exit]
    return "exit codes:\n" + "\n".join(lines)
