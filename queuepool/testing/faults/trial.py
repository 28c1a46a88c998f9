"""One run of a scenario, with at most one fault.

All happens in the calling thread and on the pool's own clock, except that a consumer that stalls
runs its handler in a thread of its own.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import threading
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from queuepool.errors import FencedError, InvalidInputError, JobTimeoutError
from queuepool.errors.escaping import shown
from queuepool.partitions.partition import OwnedPartition
from queuepool.tasks.registry import Registry
from queuepool.testing.execution import Claimed, Ended, execute
from queuepool.testing.faults.kinds import Fault, FaultKind, Place
from queuepool.testing.faults.lines import Lines, Own
from queuepool.testing.pool import MemoryPool
from queuepool.testing.running import ConsumerGone, Loop, serve

Scenario: TypeAlias = Callable[[MemoryPool], Callable[[], Any]]
_LEASE_S = 10.0
_JUMP_S = 60.0
_STALL_S = 1.0  # real time that a stalled handler waits for another that it may be blocking
_MOST_JOBS, _MOST_ROUNDS = 10_000, 100


class Killed(BaseException):
    """Ends a handler whose consumer is killed."""


@dataclass
class Outcome:
    """How a run ended. places: where it could have been disturbed; reached: whether it was.

    ends: of each job, by its id, its last execution. is_endless: there is always more to run.
    """

    places: list[Place] = field(default_factory=list)
    ends: dict[str, Ended] = field(default_factory=dict)
    executions: int = 0
    reached: bool = False
    is_endless: bool = False
    state: Any = None


def run_once(
    scenario: Scenario, registry: Registry, partitions: int, fault: Fault | None
) -> Outcome:
    """Run a scenario until nothing is left to run."""
    pool = MemoryPool(partitions, registry=registry)
    with pool:
        read = scenario(pool)
        if not callable(read):
            raise InvalidInputError(
                f"the scenario returned {shown(read)}: return a function that reads what the "
                "handlers have changed"
            )
        trial = _Trial(pool, registry, fault)
        trial.drain()
        trial.outcome.state = copy.deepcopy(read())
    return trial.outcome


class _Trial:
    def __init__(self, pool: MemoryPool, registry: Registry, fault: Fault | None) -> None:
        self.outcome = Outcome()
        self._pool, self._registry, self._fault = pool, registry, fault
        self._own = Own(task.function.__module__ or "" for task in registry)
        self._stalled: _Stalled | None = None

    def drain(self) -> None:
        """Serve all partitions until no job is due, however late."""
        try:
            for _ in range(_MOST_ROUNDS):
                due_s = self._serve_all()
                if due_s is None and self._stalled is None:
                    return
                if due_s is None:
                    self._resume()
                self._pool.clock.advance(due_s or 0.0)
            self.outcome.is_endless = True
        finally:
            self._resume()

    def _serve_all(self) -> float | None:
        # Returns in how many seconds there is more to run.
        due: list[float] = []
        for partition in self._pool.places():
            ended: list[Ended] = []
            try:
                due_s, moved = serve(
                    self._pool, partition, ended, _MOST_JOBS, self._run, lease_s=_LEASE_S
                )
            except (ConsumerGone, FencedError):
                due_s, moved = _LEASE_S + 1.0, False
            for one in ended:
                self.outcome.ends[one.job_id] = one
            due += [0.0] * moved + ([] if due_s is None else [due_s])
        return min(due, default=None)

    def _run(self, owned: OwnedPartition, job: Claimed) -> Ended:
        number = self.outcome.executions
        self.outcome.executions += 1
        fault = self._fault
        if fault is None or fault.place.execution != number:
            ended = self._execute(owned, job, Lines(self._own), number)
            if self._stalled is not None and self._stalled.job_id == job.job_id:
                self._resume()
            return ended
        if fault.kind is FaultKind.TWICE:
            self.outcome.reached = True
            self._stalled = _Stalled(job.job_id, partial(self._execute, owned, job), self._own)
            self._stalled.begin(fault.place.step)
            raise ConsumerGone
        return self._disturbed(owned, job, fault)

    def _disturbed(self, owned: OwnedPartition, job: Claimed, fault: Fault) -> Ended:
        act = self._act_of(fault, job)
        at = None if fault.place.is_end else fault.place.step
        ended = self._execute(owned, job, Lines(self._own, at, act))
        if fault.place.is_end and fault.kind is not FaultKind.KILL:
            act()
        if fault.kind is FaultKind.KILL and (self.outcome.reached or fault.place.is_end):
            self.outcome.reached = True
            raise ConsumerGone  # whatever the handler made of it
        return ended

    def _act_of(self, fault: Fault, job: Claimed) -> Callable[[], None]:
        def act() -> None:
            self.outcome.reached = True
            if fault.kind is FaultKind.KILL:
                raise Killed
            if fault.kind is FaultKind.TIMEOUT:
                _time_out(fault.place.task)
            elif fault.kind is FaultKind.CANCEL:
                self._pool.cancel(job.job_id.decode())
            else:
                back = fault.kind is FaultKind.BACK
                self._pool.clock.jump(-_JUMP_S if back else _JUMP_S)

        return act

    def _execute(
        self, owned: OwnedPartition, job: Claimed, lines: Lines, number: int | None = None
    ) -> Ended:
        with Loop() as loop, lines:
            ended = execute(
                self._registry,
                owned,
                job,
                run_async=partial(_run_async, loop),
                jitter=1.0,
                results_of=lambda batch, step: self._pool.batch(batch).results(step),
            )
        if number is not None and self._fault is None:
            steps = [*enumerate(lines.seen)]
            self.outcome.places += [Place(number, n, ended.task, line) for n, line in steps]
            end = Place(number, len(steps), ended.task, "its last line", is_end=True)
            self.outcome.places.append(end)
        return _without_frames(ended)

    def _resume(self) -> None:
        if self._stalled is not None:
            self._stalled.go_on()
            self._stalled = None


def _without_frames(ended: Ended) -> Ended:
    # What a killed handler had open, such as a connection, is closed as if its process were gone.
    if ended.exception is not None and ended.exception.__traceback__ is not None:
        traceback.clear_frames(ended.exception.__traceback__)
        gc.collect()  # a connection of sqlite3 refers to itself
    return replace(ended, exception=None)


class _Stalled:
    """A handler that stops before a line, in a thread of its own, until another has run."""

    def __init__(self, job_id: bytes, run: Callable[[Lines], Ended], own: Own) -> None:
        self.job_id = job_id
        self._run, self._own = run, own
        self._is_there, self._may_go_on = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, at: int) -> None:
        """Run the handler up to a line, or to its end if it never comes there."""
        lines = Lines(self._own, at, self._stop)

        def run() -> None:
            try:
                self._run(lines)
            except Exception:  # noqa: S110 - what a lost consumer does is not recorded
                pass
            finally:
                self._is_there.set()

        self._thread = threading.Thread(target=run, name="stalled", daemon=True)
        self._thread.start()
        self._is_there.wait()

    def go_on(self) -> None:
        """Let the handler run to its end."""
        self._may_go_on.set()
        if self._thread is not None:
            self._thread.join()

    def _stop(self) -> None:
        self._is_there.set()
        self._may_go_on.wait(_STALL_S)


def _time_out(task: str) -> None:
    try:
        running = asyncio.current_task()
    except RuntimeError:
        running = None
    if running is None:
        raise JobTimeoutError(f"{task} exceeded its timeout")
    running.cancel("its timeout has passed")  # at the next await, as in a consumer


def _run_async(loop: Loop, coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        return loop.run(coroutine)
    except asyncio.CancelledError as error:
        if error.args != ("its timeout has passed",):
            raise
        raise JobTimeoutError("the coroutine exceeded its timeout") from None
