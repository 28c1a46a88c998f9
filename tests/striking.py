"""Exceptions that strike from outside: at a chosen bytecode, or whenever another thread likes.

Ctrl-C, the timeout of a job and a debugger raise between any two steps. `struck_at` walks over all
of them, one a call; `Striker` does it as CPython itself does, to threads at work.
"""

from __future__ import annotations

import ctypes
import dis
import os
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType
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

    def strikes(code: CodeType) -> bool:
        nonlocal left, reached
        if reached or code.co_name == "__del__":  # Python drops what is raised in a finalizer
            return False
        left -= 1
        reached = left < 0
        return reached

    with _each_step(files, strikes, error):
        found = act()
    return reached, found


@contextmanager
def _each_step(
    files: tuple[str, ...], strikes: Callable[[CodeType], bool], error: type[BaseException]
) -> Iterator[None]:
    """Ask before each bytecode that this thread executes of code in such files."""
    if sys.version_info >= (3, 12):
        # Tracing forgets there, after a first exception, that it was to see bytecodes
        events, tool, me = sys.monitoring, sys.monitoring.DEBUGGER_ID, threading.get_ident()

        def on_instruction(code: CodeType, offset: int) -> Any:
            if not _is_in(code.co_filename, files) or _code(code)[offset] in _NO_STEPS:
                return events.DISABLE
            if threading.get_ident() == me and strikes(code):
                raise error
            return None

        events.use_tool_id(tool, "struck_at")
        events.register_callback(tool, events.events.INSTRUCTION, on_instruction)
        events.restart_events()
        events.set_events(tool, events.events.INSTRUCTION)
        try:
            yield
        finally:
            events.set_events(tool, events.events.NO_EVENTS)
            events.register_callback(tool, events.events.INSTRUCTION, None)
            events.free_tool_id(tool)
        return

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if not _is_in(frame.f_code.co_filename, files):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        code = frame.f_code
        if event == "opcode" and _code(code)[frame.f_lasti] not in _NO_STEPS and strikes(code):
            raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@cache
def _is_in(path: str, files: tuple[str, ...]) -> bool:
    return any(part in path for part in files)


# Python raises nothing there, and no `try` covers it: the end of a call, a mark of branches.
_NO_STEPS = {dis.opmap[name] for name in ("RETURN_VALUE", "NOT_TAKEN") if name in dis.opmap}


@cache
def _code(code: CodeType) -> bytes:
    return code.co_code


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
        self._strikes_now = False
        self._over = threading.Event()
        self.strikes = 0

    @contextmanager
    def exposed(self) -> Any:
        """Be struck within the block; not after it, but for one strike that is on its way.

        Without a lock: a thread that is struck as it acquires one would keep it.
        """
        me = threading.get_ident()
        try:
            self._targets.append(me)
            yield
        finally:
            self._leave(me)
            _settle(me)

    def _leave(self, me: int) -> None:
        # Whoever is chosen from now on is another one; who was chosen before is struck by then
        while True:
            try:
                if me in self._targets:
                    self._targets.remove(me)
                while self._strikes_now:
                    os.sched_yield()
            except self._error:
                continue
            return

    def run(self) -> None:
        """Strike until stopped."""
        while not self._over.wait(self._random.random() * 2 * self._pause_s):
            self._strikes_now = True
            targets = tuple(self._targets)
            if targets:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._random.choice(targets)), ctypes.py_object(self._error)
                )
                self.strikes += 1
            self._strikes_now = False

    def stop(self) -> None:
        """Strike no more."""
        self._over.set()
