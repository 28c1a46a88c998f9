"""The base of all errors, and the error of a wrong call."""

from __future__ import annotations

from queuepool.errors.escaping import visible


class QueuePoolError(Exception):
    """Base of all errors of queuepool.

    As text it is one line without terminal control characters, since it may quote a server, a file
    or a job. `args` holds the original text.
    """

    def __str__(self) -> str:
        return visible(super().__str__())


class InvalidInputError(QueuePoolError, ValueError):
    """An argument is not allowed; nothing was written."""
