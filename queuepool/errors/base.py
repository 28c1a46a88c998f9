"""The base of all errors, and the error of a wrong call."""

from __future__ import annotations

from typing import Any

from queuepool.errors.escaping import visible


class QueuePoolError(Exception):
    """Base of all errors of queuepool.

    As text it is one line without terminal control characters, since it may quote a server, a file
    or a job. `args` holds the original text. Copies and pickles keep its type, `args` and
    attributes.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Without __init__, which may take something other than `args`.
        return _rebuilt, (type(self), self.args), self.__dict__ or None

    def __str__(self) -> str:
        return visible(super().__str__())


class InvalidInputError(QueuePoolError, ValueError):
    """An argument is not allowed; nothing was written."""


def _rebuilt(kind: type[QueuePoolError], args: tuple[Any, ...]) -> QueuePoolError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error
