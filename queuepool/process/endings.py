"""How consumers and coordinators end: exit codes, and leaving at once."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from typing import NoReturn

from queuepool.telemetry import printing

OK, FAILED, CONFIGURATION, FENCED, WATCHDOG = 0, 1, 2, 3, 4
_TELLING_S = 5.0


def name_crashes() -> None:
    """Have a segmentation fault print where it happened, if there is a standard error."""
    with contextlib.suppress(RuntimeError, AttributeError, OSError, ValueError):
        faulthandler.enable()


def exit_now(code: int, tell: Callable[[], object] | None = None) -> NoReturn:
    """End this process without waiting for its threads; what was logged and printed is kept.

    tell: called before. All this takes at most 5 s: a stream may be a pipe that nobody reads, or a
    thread that never goes on may hold its lock.
    """
    late = threading.Thread(target=_exit_later, args=(code,), name="ending", daemon=True)
    try:
        with contextlib.suppress(RuntimeError, MemoryError):  # then it may take longer
            late.start()
        for last in (tell, logging.shutdown, printing.flush_all):
            with contextlib.suppress(Exception):
                if last is not None:
                    last()
    finally:
        os._exit(code)


def show_stacks() -> None:
    """Print what all threads are doing."""
    with tempfile.TemporaryFile() as file:  # writing into a pipe would hold up all threads
        faulthandler.dump_traceback(file)
        file.seek(0)
        printing.remark_last(*file.read().decode("ascii", "backslashreplace").splitlines())


def _exit_later(code: int) -> None:
    threading.Event().wait(_TELLING_S)
    os._exit(code)
