"""Calls the hooks of an application, beside its jobs: no hook can delay, break or end one.

    worker --job starts--.                           the hand: one thread, one call after another
    loop ----end recorded+--> queue of calls ------> hook(run), or its coroutine on a loop
                          `- full: left out, counted
    the watch: a call that takes too long loses the hand: another thread goes on with the next
               call, and that hook is left out until the call returns

Ends are told once the server has recorded them, starts as they happen; both in order for a job. The
threads begin with the first call. What a hook raises is logged, without its text, which may hold
parts of a payload, and counted.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Container
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.jobs import HAND_BACK, End, Outcome
from consumer.workers.forks import Origin
from queuepool.errors.escaping import id_text, visible
from queuepool.errors.hindrances import NoThreadError, start_thread
from queuepool.models.runs import JobRun, RunEnd
from queuepool.models.tenants import key_in, tenant_text
from queuepool.protocol.codec import decode_error
from queuepool.tasks.hooks import Hook, Moment, moments_of
from queuepool.tasks.registry import Registry, Task

if TYPE_CHECKING:
    from consumer.core.jobs import ClaimedJob
    from consumer.workers.runner import Attempt

LONGEST_S = 5.0  # of one call
_ROOM = 10_000  # calls that wait
_EXCEPTIONS = 100  # of them with an exception, whose frames hold what the handler held
_LINE_EVERY_S = 10.0  # of a hook and cause
_KINDS = 100
_ENDS = {
    End.DONE: RunEnd.DONE,
    End.RETRY: RunEnd.FAILED,
    End.BURY: RunEnd.DEAD,
    End.CANCELLED: RunEnd.CANCELLED,
}

_log = logging.getLogger("consumer.hooks")
_Call = tuple[Moment, Hook, JobRun]


class HookRunner:
    """The hooks of one consumer. `started` may be called by any thread, the rest by the loop.

    partition: the one that is owned. failures: calls that failed, by the partition of the job and
    cause: raised, timeout, skipped (an earlier one still runs) or dropped (too many waited).
    """

    def __init__(self, registry: Registry, *, longest_s: float = LONGEST_S) -> None:
        self._registry, self._longest_s = registry, longest_s
        self.failures: Counter[tuple[int, str]] = Counter()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._hand: _Hand | None = None
        self._watched = False
        self._closing = threading.Event()
        self._late: list[_Hand] = []
        self._lines: dict[tuple[str, str], tuple[float, int]] = {}
        self.partition = -1

    def started(self, attempt: Attempt) -> None:
        """Note that a job starts."""
        job, task = attempt.job, attempt.task
        most = attempt.envelope.options.max_attempts or task.max_attempts
        ids = None if attempt.span is None else attempt.span.ids
        job.run = self._run_of(job, task.name, most, None if ids is None else ids[0])
        self._put(Moment.BEFORE, task, job.run)

    def listen(self, event: object) -> None:
        """Handle an event: ends that were recorded."""
        if isinstance(event, events.Turned) and self._registry.hooks.used:
            for outcome in event.outcomes:
                if outcome.task and outcome.end is not HAND_BACK and not outcome.aside:
                    self._on_end(outcome)

    def forget_all_but(self, partitions: Container[int | None]) -> None:
        """Drop the failures in other partitions."""
        with self._lock:
            kept = {key: n for key, n in self.failures.items() if key[0] in partitions}
            self.failures = Counter(kept)

    def close(self, timeout_s: float) -> None:
        """Let the calls that wait happen, for at most this long."""
        self._closing.set()
        hand = self._hand
        if hand is not None:
            self._calls.put(None)
            hand.join(timeout_s)

    def _on_end(self, outcome: Outcome) -> None:
        job, end = outcome.job, _ENDS[outcome.end]
        if end is RunEnd.FAILED and not outcome.charged:
            end = RunEnd.LATER
        begun = job.run or self._run_of(job, outcome.task, outcome.max_attempts)
        job.run = None
        again = outcome.end is End.RETRY
        exception, outcome.exception = outcome.exception, None
        run = JobRun(
            job_id=begun.job_id, task=begun.task, group=begun.group, tenant=begun.tenant,
            partition=begun.partition, attempt=begun.attempt,
            max_attempts=outcome.max_attempts or begun.max_attempts, waited_s=begun.waited_s,
            started_at=begun.started_at, trace_id=begun.trace_id, notes=begun.notes, end=end,
            ran_s=max(0.0, outcome.ended_s - outcome.started_s),
            next_try_s=outcome.delay_ms / 1000 if again else None,
            error=decode_error(outcome.error) if outcome.error else None,
            exception=exception if self._calls.qsize() < _EXCEPTIONS else None,
        )  # fmt: skip
        task = self._registry.find(outcome.task)
        for moment in moments_of(end):
            self._put(moment, task, run)

    def _run_of(self, job: ClaimedJob, task: str, most: int, trace_id: str | None = None) -> JobRun:
        started_s = job.started_s or monotonic()
        return JobRun(
            job_id=id_text(job.id),
            task=task,
            group=key_in(job.group),
            tenant=tenant_text(job.group),
            partition=self.partition,
            attempt=job.attempt,
            max_attempts=most,
            waited_s=max(0.0, job.waited_ms / 1000 + started_s - job.claimed_s),
            started_at=time.time() - (monotonic() - started_s),
            trace_id=trace_id,
        )

    # -- the queue, the hand and the watch ---------------------------------------------------------

    def _put(self, moment: Moment, task: Task | None, run: JobRun) -> None:
        own = None if task is None else task.hook(moment)
        for hook in self._registry.hooks.of(moment, own):
            call = moment, hook, run
            if self._calls.qsize() >= _ROOM:
                self._failed(call, "dropped", f"more than {_ROOM:,} calls are queued")
            elif not self._watched and not self._begin():
                self._failed(call, "dropped", "no thread for hooks can be started")
            else:
                self._calls.put(call)

    def _begin(self) -> bool:
        """Start what is missing of hand and watch; return whether there is a hand."""
        with self._lock, suppress(NoThreadError):  # the next call tries again
            if self._hand is None:
                self._hand = _Hand(self._calls, self._call)
            if not self._watched:
                watch = threading.Thread(target=self._watch, name="queuepool-hooks", daemon=True)
                start_thread(watch, "to watch the hooks")
                self._watched = True
        return self._hand is not None

    def _watch(self) -> None:
        while not self._closing.wait(min(1.0, self._longest_s / 4)):
            with self._lock:
                hand = self._hand
                busy = None if hand is None else hand.busy
                if busy is None or hand is None:
                    continue
                call, since_s = busy
                # A coroutine is cancelled on its loop, unless it blocks that.
                longest_s = self._longest_s * (2 if _is_async(call[1]) else 1)
                if monotonic() - since_s < longest_s:
                    continue
                try:
                    self._hand = _Hand(self._calls, self._call)
                except NoThreadError:
                    continue  # the calls wait for this one, or for a thread
                self._late.append(hand)
                hand.replaced = True
            self._failed(call, "timeout", f"took longer than {self._longest_s:g} s")

    def _call(self, call: _Call, loop: Callable[[], asyncio.Runner]) -> None:
        _, hook, run = call
        try:
            if hook in self._stuck():
                self._failed(call, "skipped", "an earlier call of it has not returned")
                return
            made = hook(run)
            if inspect.iscoroutine(made):
                loop().run(asyncio.wait_for(made, self._longest_s))
        except TimeoutError as error:
            self._failed(call, "timeout" if _is_async(hook) else "raised", _place(error))
        except BaseException as error:  # a hook may raise anything; the hand goes on
            self._failed(call, "raised", _place(error))

    def _stuck(self) -> list[Hook]:
        """Return the hooks whose late calls have not returned; a list, as some have no hash."""
        with self._lock:
            self._late = [hand for hand in self._late if hand.busy is not None]
            calls = [hand.busy for hand in self._late]
        return [busy[0][1] for busy in calls if busy is not None]

    def _failed(self, call: _Call, cause: str, what: str) -> None:
        moment, hook, run = call
        name = _name(hook)
        with self._lock:
            self.failures[run.partition, cause] += 1
            kind, now = (name, cause), monotonic()
            if kind not in self._lines and len(self._lines) >= _KINDS:
                kind = ("", cause)
            said_s, left_out = self._lines.get(kind, (-_LINE_EVERY_S, 0))
            says = now - said_s >= _LINE_EVERY_S
            self._lines[kind] = (now, 0) if says else (said_s, left_out + 1)
        if says:
            more = f"; {left_out:,} more like this were not logged" if left_out else ""
            _log.warning(
                "hook %s (%s) failed, its job is not affected: %s%s", name, moment, what, more
            )


class _Hand:
    """The thread that calls. busy: its call and since when. replaced: it calls no more.

    Raises NoThreadError.
    """

    def __init__(
        self,
        calls: SimpleQueue[_Call | None],
        perform: Callable[[_Call, Callable[[], asyncio.Runner]], None],
    ) -> None:
        self._calls, self._perform = calls, perform
        self.busy: tuple[_Call, float] | None = None
        self.replaced = False
        self._loop: asyncio.Runner | None = None
        self._thread = threading.Thread(target=self._work, name="queuepool-hook", daemon=True)
        start_thread(self._thread, "for hooks")

    def join(self, timeout_s: float) -> None:
        """Wait until it has called everything that waited."""
        self._thread.join(timeout_s)

    def _work(self) -> None:
        origin = Origin()
        try:
            while not self.replaced and (call := self._calls.get()) is not None:
                self.busy = call, monotonic()
                self._perform(call, self._runner)
                origin.leave_if_forked()
                self.busy = None
        finally:
            if self._loop is not None:
                self._loop.close()

    def _runner(self) -> asyncio.Runner:
        if self._loop is None or self._loop.get_loop().is_closed():
            self._loop = asyncio.Runner()
        return self._loop


def _name(hook: Hook) -> str:
    try:
        name = str(getattr(hook, "__qualname__", type(hook).__name__))
    except Exception:  # the attributes of an object may raise anything
        name = type(hook).__name__
    return visible(name)[:100]


def _is_async(hook: Hook) -> bool:
    try:
        return inspect.iscoroutinefunction(hook)
    except Exception:  # as above
        return False


def _place(error: BaseException) -> str:
    """Return the type of an error and the line that raised it, without its text."""
    frames = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" at {visible(frames[0].filename)}:{frames[0].lineno}" if frames else ""
    return f"{visible(type(error).__qualname__)}{where}"
