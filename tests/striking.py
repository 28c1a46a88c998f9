"""Exceptions that strike from outside: at a chosen bytecode, or whenever another thread likes.

Ctrl-C, the timeout of a job and a debugger raise between any two steps. `struck_at` walks over all
of them, one a call; `Striker` does it as CPython itself does, to threads at work.
"""

from __future__ import annotations

import ctypes
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any


@contextmanager
def unraisable_dropped() -> Iterator[None]:
    """Within the block Python reports nothing that is raised where nobody can catch it.

    What is struck during its end is reported so: that is the point of such tests. A hook in Python
    (pytest has one, which formats the traceback) would be struck in turn, and fail.
    """
    before = sys.unraisablehook
    dropped: deque[Any] = deque(maxlen=0)
    sys.unraisablehook = dropped.append  # written in C: no step of it can be struck
    try:
        yield
    finally:
        sys.unraisablehook = before


class Struck(BaseException):
    """What strikes; no one else raises it."""


def struck_at(
    step: int,
    act: Callable[[], Any],
    *,
    files: tuple[str, ...],
    error: type[BaseException] = Struck,
) -> tuple[bool, Any]:
    """Run `act`; raise an error in place of a step (bytecode) of code in such files.

    Returns (whether the step was reached, what `act` returned), or raises what came out of it.
    """
    left = step
    reached = False

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal left, reached
        if reached or not _is_in(frame.f_code.co_filename, files):
            return None
        if frame.f_code.co_name == "__del__":  # Python drops what is raised in a finalizer
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            left -= 1
            if left < 0:
                reached = True
                raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = act()
    finally:
        sys.settrace(before)
    return reached, found


@cache
def _is_in(path: str, files: tuple[str, ...]) -> bool:
    return any(part in path for part in files)


class _SettledError(BaseException):
    """Takes the place of a strike that is on its way."""


def _settle(thread_id: int) -> None:
    # Taken back with None, a strike would leave CPython 3.11's flag of a pending one set, and
    # `struck_at` would hang in every later test of this process.
    try:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread_id), ctypes.py_object(_SettledError)
        )
        for _ in range(100):
            pass
    except _SettledError:
        pass


class Striker:
    """A thread that raises an exception in other threads, again and again, at random moments."""

    def __init__(self, error: type[BaseException], seed: int, pause_s: float = 0.002) -> None:
        self._error, self._random, self._pause_s = error, random.Random(seed), pause_s
        self._targets: list[int] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.strikes = 0

    @contextmanager
    def exposed(self) -> Any:
        """Be struck within the block; not after it, but for one strike that is on its way."""
        me = threading.get_ident()
        with self._lock:
            self._targets.append(me)
        try:
            yield
        finally:
            with self._lock:
                self._targets.remove(me)
            _settle(me)

    def run(self) -> None:
        """Strike until stopped."""
        while not self._over.wait(self._random.random() * 2 * self._pause_s):
            with self._lock:
                if self._targets:
                    target = self._random.choice(self._targets)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(target), ctypes.py_object(self._error)
                    )
                    self.strikes += 1

    def stop(self) -> None:
        """Strike no more."""
        self._over.set()
