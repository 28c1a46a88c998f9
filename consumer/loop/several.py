"""Several consumers on one machine: this process starts them, and keeps them running.

    a child    what happens                          then
    starting   it finds its settings wrong           all end, and this process exits like it
               it finds nothing wrong                running; after the first, the others start
    running    it finds its settings wrong           as above
    running    it exits, with whatever code          pausing, longer after each failure
    pausing    the pause is over                     starting
               the machine refuses another process   pausing
    any        this process gets a signal            every child gets it; none starts again

Invariants: there are never more children than asked for. None outlives this process for longer than
its drain, even if this one is killed (see `queuepool.process.launch`). A mistake in the settings is
told once, as the others wait for the first. One that starts again is a new program.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from consumer.loop.words import Hearer
from queuepool.process.children import Child
from queuepool.process.endings import CONFIGURATION, FAILED, OK
from queuepool.process.restarts import Restarts
from queuepool.process.signals import SignalHandlers

_log = logging.getLogger("consumer")
_STILL_STARTING = -signal.SIGTERM  # ended by our signal before it could handle it: it owned nothing
_LOOK_S = 0.1
_STARTS_S = 60.0  # the others wait no longer for the first: importing an application takes a while
_BEYOND_DRAIN_S = 15.0

# Starts consumer number n. It gets the end of a pipe for what it tells, see `Teller`.
Start = Callable[[int, int], Child]


@dataclass(slots=True)
class _Child:
    number: int
    process: Child | None = None
    words: Hearer | None = None
    started_s: float = 0.0
    restarts: Restarts = field(default_factory=Restarts)

    @property
    def name(self) -> str:
        return f"consumer {self.number}"

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def is_refusal(self, code: int) -> bool:
        return self.words is not None and self.words.is_refusal(code)

    def forget(self) -> None:
        words, self.words, self.process = self.words, None, None
        if words is not None:
            words.close()


class Several:
    """Keeps `count` consumers running until a signal. drain_s: what each takes to end, at most."""

    def __init__(self, count: int, start: Start, *, drain_s: float) -> None:
        self._children = [_Child(number) for number in range(count)]
        self._start, self._drain_s = start, drain_s
        self._signals, self._passed_on, self._code = 0, 0, OK
        self._first_started = False

    def run(self) -> int:
        """Run until SIGTERM or SIGINT, in the main thread; returns the exit code."""
        handlers = SignalHandlers(self._on_signal)
        try:
            self._keep_running()
        finally:
            code = self._end()
            handlers.put_back()
        return code

    def _keep_running(self) -> None:
        while self._goes_on():
            for child in self._children:
                self._look_at(child)
                if not self._first_started or not self._goes_on():
                    break
            _pause()

    def _goes_on(self) -> bool:
        return not self._signals and self._code == OK

    def _on_signal(self, number: int, _frame: object) -> None:
        self._signals += 1
        if self._signals > 1:
            self._code = 128 + number

    def _start_or_pause(self, child: _Child) -> None:
        try:
            self._spawn(child)
        except OSError as error:  # too many processes or files, no memory: the others run on
            said = child.restarts.after_refusal(error, now_s=time.monotonic())
            _log.error("%s %s", child.name, said)

    def _spawn(self, child: _Child) -> None:
        reader, writer = os.pipe()
        child.words = Hearer(reader)
        try:
            child.process = self._start(child.number, writer)
        except BaseException:
            child.forget()
            raise
        finally:
            os.close(writer)
        child.started_s = time.monotonic()
        _log.info("%s runs as process %d", child.name, child.process.pid)
        if not self._first_started:
            self._wait_for_first(child, child.words)

    def _wait_for_first(self, child: _Child, words: Hearer) -> None:
        while self._may_wait(child) and not words.hear(_LOOK_S):
            pass
        while not words.has_started and words.hear() and child.runs and self._may_wait(child):
            _pause()  # it ends without having started
        self._first_started = child.runs and not self._signals

    def _may_wait(self, child: _Child) -> bool:
        return not self._signals and time.monotonic() - child.started_s < _STARTS_S

    def _look_at(self, child: _Child) -> None:
        now_s = time.monotonic()
        if child.process is None:
            if now_s >= child.restarts.due_s:
                self._start_or_pause(child)
        elif (code := child.process.poll()) is not None:
            is_refusal = child.is_refusal(code)
            child.forget()
            if is_refusal:  # it said why
                self._code = CONFIGURATION
                return
            said = child.restarts.after_exit(code, ran_s=now_s - child.started_s, now_s=now_s)
            _log.error("%s %s", child.name, said)

    def _end(self) -> int:
        """Pass signals on until all have ended; a child that takes too long is killed."""
        self._signals = max(self._signals, 1)
        deadline_s = time.monotonic() + self._drain_s + _BEYOND_DRAIN_S
        while alive := [c for c in self._children if c.process and c.process.poll() is None]:
            late = time.monotonic() > deadline_s
            if late or self._passed_on < self._signals:
                self._passed_on += 1
                for child in alive:
                    _send(child, signal.SIGKILL if late else signal.SIGTERM)
            _pause()
        codes = {child.process.returncode for child in self._children if child.process}
        for child in self._children:
            child.forget()
        return self._code or (OK if codes <= {OK, _STILL_STARTING} else FAILED)


def _send(child: _Child, number: signal.Signals) -> None:
    if child.process is not None:
        if number is signal.SIGKILL:
            _log.error("%s did not exit in time and was killed", child.name)
        child.process.send_signal(number)


def _pause() -> None:
    threading.Event().wait(_LOOK_S)
