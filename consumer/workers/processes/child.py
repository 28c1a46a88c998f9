"""A child of a process pool: imports the application once, then runs one job after another.

    main thread   receives a job, runs it, reports the outcome
    listener      receives jobs and cancel requests; reports progress, at most every 0.1 s

Handlers run in the main thread, so signals, alarms and libraries that require it work. Timeouts are
enforced by the pool, which kills this process at the deadline; nothing is raised in a handler. If
the socket closes while a job runs, the consumer is gone and the process exits at once; on Linux the
kernel also kills it (PR_SET_PDEATHSIG), even when C code holds the GIL. If the socket closes
between two jobs, the process exits normally. SIGTERM and SIGINT are meant for the consumer, which
drains: here they do nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import ctypes
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Coroutine, Iterator
from queue import SimpleQueue
from time import monotonic
from typing import Any

from consumer.core.jobs import ClaimedJob, Outcome, claimed
from consumer.workers.processes.frames import (
    BrokenFrameError,
    Cancel,
    ChildReader,
    Ended,
    Progress,
    Ready,
    Run,
    Start,
    ToChild,
    ToPool,
    frame,
)
from consumer.workers.runner import Runner
from queuepool.errors import ConfigurationError
from queuepool.process.endings import name_crashes
from queuepool.process.exporting import exported
from queuepool.process.signals import SignalHandlers
from queuepool.process.startup import import_app
from queuepool.servers import forking
from queuepool.tasks.registry import default_registry
from queuepool.telemetry import printing
from queuepool.telemetry.logs import configure
from queuepool.verbs.owner.verbs import Ownership

_SAY_S = 0.1  # between checks of a job's progress
_CHUNK_BYTES = 256 * 1024
_PR_SET_PDEATHSIG = 1
_NO_APP = 2


def main(descriptor: int, parent: int) -> None:
    """Run the jobs that arrive on a socket until it closes. parent: pid of the consumer."""
    os.set_inheritable(descriptor, False)  # programs started by handlers do not inherit it
    _die_with(parent)
    name_crashes()  # a segfaulting handler names itself
    # Handlers that do nothing: programs started here would inherit ignored signals.
    signals = SignalHandlers(lambda *_: None)
    with socket.socket(fileno=descriptor) as pipe:
        _Child(pipe).serve()
    signals.put_back()


def _die_with(parent: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


class _Child:
    def __init__(self, pipe: socket.socket) -> None:
        self._pipe, self._reader = pipe, ChildReader()
        self._sending = threading.Lock()
        self._orders: SimpleQueue[Run | Start | None] = SimpleQueue()
        self._running: tuple[int, ClaimedJob] | None = None
        self._busy = False  # from the arrival of a job until its outcome is sent
        self._runner: Runner | None = None
        self._loop = _OwnLoop()
        self._ending = contextlib.ExitStack()
        forking.keep(self)

    def serve(self) -> None:
        threading.Thread(target=self._listen, name="queuepool-pipe", daemon=True).start()
        while (order := self._orders.get()) is not None:
            if isinstance(order, Start):
                self._runner = self._started(order)
                self._say(Ready())
            else:
                self._execute(order)
        self._loop.close()
        self._ending.close()

    def after_fork(self) -> None:
        """Close the copy of the socket: its end must mean that this process died."""
        forking.close_inherited(self._pipe)

    def _started(self, start: Start) -> Runner:
        configure(start.log_format, start.log_level)
        try:
            import_app(start.app)
        except ConfigurationError as error:
            printing.complain("consumer process", error)
            sys.exit(_NO_APP)
        self._ending.enter_context(exported(None, "queuepool-consumer", flush_s=0.5))
        # Its nonce stays with the consumer: nothing here writes to the server.
        ownership = Ownership(start.partition, "", start.epoch)
        return Runner(default_registry, ownership, self._loop, _Untimed())

    def _execute(self, order: Run) -> None:
        if self._runner is None:
            raise RuntimeError("a job arrived before the application was named")
        job = claimed(order.id, order.body, order.attempt, order.crashes, 0, monotonic())
        self._running = order.job, job
        with _within(order.trace), _put_back():
            outcome = self._runner.run(job)
        self._running, self._busy = None, False
        self._runner.progress.clear()
        self._say(_ended(order.job, outcome))

    def _say(self, message: ToPool) -> None:
        try:
            with self._sending:
                self._pipe.sendall(frame(message))
        except OSError:  # the consumer is gone, or a handler closed the socket
            os._exit(1)

    def _listen(self) -> None:
        try:
            while True:
                if not select.select([self._pipe], [], [], _SAY_S if self._busy else None)[0]:
                    self._say_progress()
                    continue
                data = self._pipe.recv(_CHUNK_BYTES)
                if not data:
                    break
                for message in self._reader.read(data):
                    self._on_message(message)
        except (OSError, ValueError, BrokenFrameError):
            os._exit(1)
        if self._busy:
            os._exit(1)
        self._orders.put(None)

    def _on_message(self, message: ToChild) -> None:
        if isinstance(message, Cancel):
            running = self._running
            if running is not None and running[0] == message.job:
                running[1].cancelled = True
        else:
            self._busy = isinstance(message, Run)
            self._orders.put(message)

    def _say_progress(self) -> None:
        running, runner = self._running, self._runner
        if running is None or runner is None:
            return
        text = runner.progress.pop(running[1].id, None)
        if text is not None:
            self._say(Progress(running[0], text))


@contextlib.contextmanager
def _put_back() -> Iterator[None]:
    """Undo what a handler may leave behind that would end later jobs."""
    frames, (alarm_s, _) = sys.getrecursionlimit(), signal.getitimer(signal.ITIMER_REAL)
    yield
    sys.setrecursionlimit(frames)
    if not alarm_s:  # otherwise it is the application's
        signal.setitimer(signal.ITIMER_REAL, 0)


def _within(trace: str) -> contextlib.AbstractContextManager[None]:
    """Return the block in which the execution's span, which is the consumer's, is current."""
    if not trace:
        return contextlib.nullcontext()
    from queuepool.telemetry.otel.spans import remote

    return remote(trace)


def _ended(number: int, o: Outcome) -> Ended:
    return Ended(
        number, o.end, o.task, o.result, o.result_ttl_ms, o.delay_ms, o.charged, o.error,
        o.reason, o.max_attempts, o.aside, o.slow_ms,
    )  # fmt: skip


class _Untimed:
    """Limits of a process that is killed at its deadline."""

    def limit(self, timeout_s: float) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        return contextlib.nullcontext()


class _OwnLoop:
    """Runs coroutines in the calling thread, all on one loop."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any], timeout_s: float | None) -> Any:  # noqa: ARG002
        if self._runner is None or self._runner.get_loop().is_closed():
            self._runner = asyncio.Runner()
        try:
            return self._runner.run(coroutine, context=contextvars.copy_context())
        except asyncio.CancelledError:
            raise RuntimeError("the handler was cancelled from within") from None

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
