"""Handlers that fork: the child exits where its part of the handler ends.

    handler --os.fork()--> parent   continues, its end is the end of the attempt
                     `---> child    returns, sys.exit(), an exception: the process ends, here

Otherwise a child would return into the worker that called the handler, as a second worker with the
same jobs. The child's exit status is that of its SystemExit, 0 if the handler returns, 1 after an
exception, whose traceback it prints. multiprocessing ends its children itself and does not get
here.

What a child inherits is closed or reset in it (queuepool.servers.forking): the metrics port,
connections to the server, and the signal handlers, so that SIGTERM ends it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import NoReturn

from queuepool.servers import forking
from queuepool.telemetry import printing

_FLUSH_S = 5


def leave(error: BaseException | None) -> NoReturn:
    """Exit this forked child with the right status."""
    # Another thread of the parent may have held a stream's lock: then SIGALRM ends us.
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_FLUSH_S)
    status = 1
    try:
        status = _status(error)
        printing.flush_all()
    finally:
        os._exit(status)


def _status(error: BaseException | None) -> int:
    if error is None:
        return 0
    if not isinstance(error, SystemExit):
        printing.show_uncaught(type(error), error, error.__traceback__)
        return 1
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    printing.remark(str(error.code))
    return 1


class Origin:
    """Remembers the process that created it, to recognise forked children."""

    def __init__(self) -> None:
        self._generation = forking.generation

    def leave_if_forked(self, error: BaseException | None = None) -> None:
        """Return in the process that created this; exit a forked child, see `leave`."""
        if forking.generation != self._generation:
            leave(error)
