"""The event loop on which all async handlers of a process run.

A slot is a worker thread: it hands its coroutine to the loop and waits, so sync and async jobs
share one count, and async handlers see each other on one loop, as their clients expect. The loop
starts with the first async job.

    starting --a thread runs it--> serving --stop--> ended: what still ran has failed
        `--refused: closed, forgotten  `--broken by a handler--^     the next job gets another loop

Handlers share the loop, and none may break it for later ones: its task factory, exception handler
and debug flag are restored before and after each job, tasks are created without the factory, and a
stopped loop continues. Every job that waits for a loop is notified of its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any

from consumer.workers.forks import Origin, leave
from queuepool.errors import JobTimeoutError
from queuepool.servers import forking

_Made = Coroutine[Any, Any, Any]
_LOOPS = 3  # a loop may break just when it gets a job


class Exit:
    """Carries an exception that would end the whole loop to the thread that should raise it."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class HandlerLoop:
    """Runs coroutines for worker threads. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._serving: _Serving | None = None
        self._origin = Origin()

    def run(self, coroutine: _Made, timeout_s: float | None) -> Any:
        """Run a coroutine to its end and return its value, from a worker thread.

        A timeout cancels it at its next await and raises JobTimeoutError. Raises RuntimeError, and
        the coroutine was not started, if there is no loop and none can be created.
        """
        try:
            future = self.begin(limited(coroutine, timeout_s, self._origin))
        except BaseException:
            coroutine.close()
            raise
        try:
            value = future.result()
        except CancelledError:
            raise RuntimeError("the handler cancelled itself") from None
        if isinstance(value, Exit):
            raise value.error
        return value

    def begin(self, coroutine: _Made) -> Future[Any]:
        """Run a coroutine; returns the future of its end. Never waits.

        It may only return a value, or raise an Exception or CancelledError, see `limited`.
        Raises RuntimeError as `run` does.
        """
        future: Future[Any] = Future()
        try:
            for _ in range(_LOOPS):
                if self._started().submit(coroutine, future):
                    return future
            raise RuntimeError("handlers keep closing the event loop; this one was not started")
        except BaseException:
            coroutine.close()
            raise

    def stop(self) -> None:
        """Stop the loop and cancel what still runs on it. Idempotent, legal before start."""
        with self._lock:
            self._stopped = True
            serving, self._serving = self._serving, None
        if serving is not None:
            serving.stop()

    def _started(self) -> _Serving:
        with self._lock:
            if self._stopped:
                raise RuntimeError("the consumer is stopping; the handler was not started")
            if self._serving is None or self._serving.broken:
                self._serving = _Serving()  # kept only when its thread has started
            return self._serving


class _Serving:
    """One loop and its thread, from start to end."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._ending, self._ended = threading.Event(), False
        self._tasks: dict[Future[Any], asyncio.Task[Any] | None] = {}
        self._usual = (
            self.loop.get_task_factory(),
            self.loop.get_exception_handler(),
            self.loop.get_debug(),
        )
        self._thread = threading.Thread(target=self._serve, name="queuepool-handlers", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self.loop.close()
            raise RuntimeError(
                f"no thread for the event loop of async handlers ({error}); the handler was not "
                "started. Raise the limit of threads (ulimit -u, pids.max), or lower "
                "CONSUMER_WORKERS"
            ) from None
        forking.keep(self)

    @property
    def broken(self) -> bool:
        """Return whether this loop can no longer run anything."""
        return self._ended or self.loop.is_closed()

    def submit(self, coroutine: _Made, future: Future[Any]) -> bool:
        """Run a coroutine and record its end in the future. False: this loop has ended."""
        self._tasks[future] = None
        try:
            self.loop.call_soon_threadsafe(self._begin, coroutine, future)
        except RuntimeError:  # it was closed
            # Closing it fails all waiting futures: unless this one is among them, it is free.
            return self._tasks.pop(future, self) is self
        return True

    def stop(self) -> None:
        """End the loop; returns when its thread has ended, or after 5 s."""
        self._ending.set()
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=5)

    def after_fork(self) -> None:
        """Make a handler's forked child exit when it returns control to this loop.

        A handler forked while it ran on the loop. Its child shares the selector with the parent,
        and all other jobs of the loop would continue in it as well.
        """
        if self._thread is threading.current_thread():
            ready = getattr(self.loop, "_ready", None)  # otherwise others may run a step first
            if ready is not None:
                ready.clear()
            self.loop.call_soon(_refuse_to_wait)

    def _begin(self, coroutine: _Made, future: Future[Any]) -> None:
        self._put_back()
        task = asyncio.Task(coroutine, loop=self.loop)  # not through a factory set by a handler
        self._tasks[future] = task  # the loop itself holds tasks only weakly
        task.add_done_callback(lambda task: self._settle(task, future))

    def _settle(self, task: asyncio.Task[Any], future: Future[Any]) -> None:
        self._put_back()
        if self._tasks.pop(future, self) is self:
            return
        if task.cancelled():
            future.cancel()
        elif (error := task.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())

    def _put_back(self) -> None:
        loop, (factory, on_exception, debug) = self.loop, self._usual
        if loop.get_task_factory() is not factory:
            loop.set_task_factory(factory)
        if loop.get_exception_handler() is not on_exception:
            loop.set_exception_handler(on_exception)
        if loop.get_debug() is not debug:
            loop.set_debug(debug)

    def _serve(self) -> None:
        loop = self.loop
        asyncio.set_event_loop(loop)
        try:
            while not self._ending.is_set() and not loop.is_closed():
                # A task left behind by a handler may still raise SystemExit out of the loop.
                with contextlib.suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
            if not loop.is_closed():
                _cancel_all(loop)
        finally:
            self._ended = True
            with contextlib.suppress(RuntimeError):
                loop.close()
            self._fail_all()

    def _fail_all(self) -> None:
        while self._tasks:
            future, _task = self._tasks.popitem()
            future.set_exception(
                RuntimeError(
                    "the event loop of async handlers ended while the handler was running on "
                    "it: the consumer is stopping, or a handler closed the loop"
                )
            )


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    if pending:
        loop.run_until_complete(asyncio.wait(pending, timeout=2))


async def limited(coroutine: _Made, timeout_s: float | None, origin: Origin) -> Any:
    """Return the value of a coroutine, or the Exit that it raised.

    Raises JobTimeoutError, and whatever else the coroutine raises. origin: of the loop.
    """
    try:
        if timeout_s is None:
            value = await coroutine
            origin.leave_if_forked()
            return value
        async with asyncio.timeout(timeout_s) as limit:
            value = await coroutine
            origin.leave_if_forked()
            return value
    except TimeoutError as error:
        origin.leave_if_forked(error)
        if timeout_s is not None and limit.expired():
            raise JobTimeoutError(f"exceeded its timeout of {timeout_s:g} s") from None
        raise  # the handler's own
    except (SystemExit, KeyboardInterrupt) as error:
        origin.leave_if_forked(error)
        return Exit(error)
    except BaseException as error:
        origin.leave_if_forked(error)
        raise


def _refuse_to_wait() -> None:
    leave(
        RuntimeError(
            "a child process forked in a coroutine used await, but the event loop belongs to "
            "its parent. End the child without an await, or start it with subprocess or "
            "multiprocessing's spawn"
        )
    )
