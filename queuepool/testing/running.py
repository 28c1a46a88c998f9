"""run_jobs: a consumer for tests. It runs ready jobs immediately, and reports what happened."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from queuepool.client.pool import QueuePool
from queuepool.errors import FencedError, InvalidInputError, UnavailableError
from queuepool.models import ErrorRecord, JobState
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.protocol import codec
from queuepool.protocol.batches import MARK
from queuepool.testing.execution import Claimed, Ended, execute, refuse_a_running_loop
from queuepool.testing.telling import tell, tend
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.owner.gates import admit, gates

_LEASE_S = 3600.0
_WEIGHTS = (6, 3, 2, 1)
_MAX_CRASHES = 3
_MOST_ADMITTED = 200  # of a gate at once
_SHOWN_ERRORS, _SHOWN_CHARACTERS = 5, 200  # in the repr of a report
_CRASHED = codec.encode_error(ErrorRecord(reason="crashed", message="its consumer died with it"))
_KEEP = {"keep_jobs": 100_000, "keep_bytes": 2**30, "keep_ms": 30 * 86_400_000}


@dataclass(frozen=True, slots=True)
class RunReport:
    """What run_jobs did. next_due_s: until the next delayed job or retry; None: nothing waits.

    errors: the executions that failed, whether or not they will be repeated.
    """

    ended: tuple[Ended, ...]
    next_due_s: float | None

    @property
    def done(self) -> int:
        """Return how many jobs succeeded."""
        return self._count(JobState.DONE)

    @property
    def retried(self) -> int:
        """Return how many executions will be repeated: they failed, or raised RetryLater."""
        return self._count(JobState.DELAYED)

    @property
    def dead(self) -> int:
        """Return how many jobs died."""
        return self._count(JobState.DEAD)

    @property
    def cancelled(self) -> int:
        """Return how many jobs ended as cancelled while they ran."""
        return self._count(JobState.CANCELLED)

    @property
    def errors(self) -> tuple[Ended, ...]:
        """Return the executions that failed: each has an `error`, and the raised `exception`."""
        failed = (JobState.DELAYED, JobState.DEAD)
        return tuple(e for e in self.ended if e.error is not None and e.state in failed)

    def raise_errors(self) -> None:
        """Raise what the handlers raised: a single exception, or several as a group, if any."""
        raised = [e.exception for e in self.errors if e.exception is not None]
        for exception, ended in zip(raised, self.errors, strict=True):
            note = f"in attempt {ended.attempt} of job {ended.job_id} of task {ended.task!r}"
            if note not in getattr(exception, "__notes__", ()):
                exception.add_note(note)
        if len(raised) == 1:
            raise raised[0]
        if raised:
            raise BaseExceptionGroup(f"{len(raised)} executions of jobs failed", raised)

    def _count(self, state: JobState) -> int:
        return Counter(e.state for e in self.ended)[state]

    def __repr__(self) -> str:
        errors = [_in_a_line(ended) for ended in self.errors[:_SHOWN_ERRORS]]
        if len(self.errors) > _SHOWN_ERRORS:
            errors.append(f"and {len(self.errors) - _SHOWN_ERRORS} more")
        told = f", errors={errors}" if errors else ""
        return (
            f"RunReport(done={self.done}, retried={self.retried}, dead={self.dead}, "
            f"cancelled={self.cancelled}, next_due_s={self.next_due_s}{told})"
        )


def _in_a_line(ended: Ended) -> str:
    e = ended.error or ErrorRecord(reason="")
    why = f"{e.type}: {e.message}" if e.type else e.reason
    return f"{ended.task}: {' '.join(why.split())[:_SHOWN_CHARACTERS]}"


def run_jobs(pool: QueuePool, *, max_jobs: int = 10_000, jitter: float = 0.5) -> RunReport:
    """Run all ready jobs in the calling thread, one by one; return a report.

    Ends when nothing is ready or after `max_jobs` executions. Retries become due when the pool's
    clock is advanced; jitter, 0 to 1, is the part of the backoff's ceiling that they wait. An
    exception of a handler is never raised here: it is in the report, whose `raise_errors()` raises
    it, and in `pool.status`.
    Timeouts only apply to async handlers. Limits hold no job back. Raises UnavailableError if a
    partition is owned by someone else.
    """
    if not isinstance(pool, QueuePool):
        raise InvalidInputError(
            f"run_jobs takes a QueuePool, not {type(pool).__name__}: pass the pool whose asyncio() "
            "this is, which has the same jobs"
        )
    if any(task.is_async for task in pool.producer.registry):
        refuse_a_running_loop()
    ended: list[Ended] = []
    due_s: list[float] = []
    with Loop() as loop:
        run = partial(
            execute,
            pool.producer.registry,
            run_async=loop.run,
            jitter=jitter,
            results_of=lambda batch, step: pool.batch(batch).results(step),
        )
        again = True
        while again:  # a batch may have ended, here or in a partition before this one
            again = False
            due_s.clear()
            for partition in pool.places():
                due, moved = serve(pool, partition, ended, max_jobs, run)
                again = moved or again
                if due is not None:
                    due_s.append(due)
            again = again and len(ended) < max_jobs
    return RunReport(tuple(ended), min(due_s, default=None))


class ConsumerGone(Exception):  # noqa: N818 - an event of a simulated consumer, no error
    """The consumer is gone while it runs a job: its lease stays until it expires."""


def serve(
    pool: QueuePool,
    partition: Partition,
    ended: list[Ended],
    max_jobs: int,
    run: Callable[[OwnedPartition, Claimed], Ended],
    *,
    lease_s: float = _LEASE_S,
) -> tuple[float | None, bool]:
    """Own a partition and run what is ready, adding to `ended`.

    Returns in how many seconds more is due, and whether a batch was told or concluded.
    """
    owned = _own(partition, lease_s)
    gone = False
    try:
        moved = tend(owned)
        _rouse(owned, [task.name for task in pool.producer.registry])
        due = _run_partition(owned, ended, max_jobs, partial(run, owned))
        moved = tell(pool, owned) or moved
    except (ConsumerGone, FencedError):
        gone = True
        raise
    finally:
        if not gone:
            owned.run(own.release(owned.ownership, drain_lease_ms=0))
    return due, moved


class Loop:
    """An event loop, created for the first coroutine."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(coroutine)

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            self._runner.close()


def _own(partition: Partition, lease_s: float) -> OwnedPartition:
    owned = partition.acquire(lease_s=lease_s, host="run_jobs")
    if isinstance(owned, own.Held):
        raise UnavailableError(
            f"partition {partition.number} is owned by another process for another "
            f"{owned.lease_ms / 1000:g} s: stop that consumer, or advance the clock"
        )
    return owned


def _run_partition(
    owned: OwnedPartition,
    ended: list[Ended],
    max_jobs: int,
    run: Callable[[Claimed], Ended],
) -> float | None:
    ownership = owned.ownership
    while owned.run(
        own.recover(ownership, max_crashes=_MAX_CRASHES, error=_CRASHED)
    ).epochs_to_recover:
        pass
    _admit(owned, max_jobs - len(ended))
    while True:
        promoted = owned.run(own.promote(ownership))
        job = _claim_one(owned) if len(ended) < max_jobs else None
        if job is None and _admit(owned, max_jobs - len(ended)):
            continue
        if job is None:
            due_ms = promoted.next_due_ms
            if due_ms == 0 and len(ended) < max_jobs:
                continue  # more than one call can promote is due
            return None if due_ms is None else due_ms / 1000
        outcome = run(job)
        _settle(owned, job, outcome)
        ended.append(outcome)


def _rouse(owned: OwnedPartition, tasks: Sequence[str]) -> None:
    page = owned.run(own.rouse(owned.ownership, b"0", tasks))
    while page.cursor != b"0":
        page = owned.run(own.rouse(owned.ownership, page.cursor, tasks))


def _admit(owned: OwnedPartition, most: int) -> bool:
    """Move jobs that wait for their limits to their lanes; return whether any moved."""
    cursor, begun, moved = b"0", False, False
    while most > 0 and not (begun and cursor == b"0"):
        page = owned.run(gates(cursor))
        cursor, begun = page.cursor, True
        for gate in page.gates:
            n = min(most, _MOST_ADMITTED)
            done = owned.run(admit(owned.ownership, gate.limits, n, most_waiting=n))
            moved = moved or done.left < gate.parked
    return moved


def _claim_one(owned: OwnedPartition) -> Claimed | None:
    while True:
        claims = owned.run(
            own.claim(owned.ownership, 1, starting=1, promote_after_ms=0, weights=_WEIGHTS)
        )
        if claims.ids:
            break
        if not claims.taken:
            return None  # otherwise the claim found the mark of a cancelled job
    failed = claims.attempts[0] if claims.attempts else None
    job = Claimed(claims.ids[0], claims.bodies[0], int(failed or 0))
    owned.run(own.start(owned.ownership, [job.job_id]))
    return job


def _settle(owned: OwnedPartition, job: Claimed, outcome: Ended) -> None:
    error = codec.encode_error(outcome.error) if outcome.error else b""
    if outcome.state is JobState.DONE and MARK in job.job_id:
        result = b"" if outcome.result is None else codec.encode_result(outcome.result)
        ttl_ms = int(outcome.result_ttl_s * 1000) if result else 0
        stray = (job.job_id, codec.read_stamp(job.body), ttl_ms, result)
        owned.run(own.finish_stray(owned.ownership, [stray]))
    elif outcome.state is JobState.DONE:
        ack = own.Acks(len(job.body), [job.job_id], [])
        ttl_ms = int(outcome.result_ttl_s * 1000)
        if outcome.result is not None and ttl_ms > 0:
            ack.results = [(job.job_id, ttl_ms, codec.encode_result(outcome.result))]
        if owned.run(own.finish(owned.ownership, {codec.read_group(job.body): ack})).left:
            [stored] = ack.results or [(job.job_id, 0, b"")]
            stray = (job.job_id, codec.read_stamp(job.body), *stored[1:])
            owned.run(own.finish_stray(owned.ownership, [stray]))
    elif outcome.state is JobState.DELAYED:
        delay_ms = int((outcome.delay_s or 0) * 1000)
        charged = outcome.task if outcome.unknown else outcome.charged
        owned.run(own.retry(owned.ownership, [(job.job_id, delay_ms, charged, error)]))
    elif outcome.state is JobState.DEAD:
        owned.run(own.bury(owned.ownership, [(job.job_id, error)], **_KEEP))
    else:
        owned.run(own.end_cancelled(owned.ownership, [job.job_id]))
