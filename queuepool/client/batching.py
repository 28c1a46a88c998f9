"""Enqueue jobs with a continuation, or into a batch that exists: as steps for both pools.

    open_batch -> the continuation, delayed -> the jobs, numbered -> seal_batch
    grow_batch -> the jobs, with the numbers that it reserved

The first jobs of a call are checked before the batch is opened. If an error ends the call before it
stored any, the batch that it opened is cancelled with its continuation; else the error names it.

Any part may be repeated: the record, the ids and the numbers are the same again. Of a batch that is
sealed, a repeated call adds no other numbers: they are those of jobs that its own jobs add.

    the record   its continuation   at the deadline
    open         not stored yet     it stays open; its owner looks again, until it is stored
    open         stored             fired and due now, or failed and dead, in one script
    forgotten    never stored       `keep_s` after the deadline; nothing is left

Invariants
- The verdict and what becomes of the continuation are one step of the owner: whether the producer
  is slow or has died between two of these calls, no continuation is stored behind a verdict.
- A sealed batch has a continuation, unless that has ended: only one that is not sealed waits for
  it.
- Whoever stores one when the deadline has passed looks whether the batch is still there. If it was
  forgotten, the continuation is cancelled. Only a producer that was slower than `keep_s` and then
  died leaves one, which an hour after its deadline finds no batch.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from queuepool.client.after import After
from queuepool.client.chunks import Chunk
from queuepool.client.continuing import continuation
from queuepool.client.effects import Pause, Steps, Verify
from queuepool.client.flows.unfinished import (
    MAY_BE_THERE,
    NOT_SEALED,
    unfinished,
    use_longer,
)
from queuepool.client.numbers import ALL_ENDED, Numbers
from queuepool.client.producer import Producer
from queuepool.client.questions import ask, following
from queuepool.client.results import EnqueueResults
from queuepool.client.sender import Sender
from queuepool.errors import InvalidInputError, QueuePoolError, UnavailableError
from queuepool.errors.escaping import shown
from queuepool.models.flows import BatchState, BatchStatus
from queuepool.protocol.batches import MAX_JOBS, home_of_batch
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.tasks.batch_ref import BatchRef
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.producer import verbs as produce

_SEAL_WAIT_S, _SEAL_PAUSE_S = 30.0, 0.1


def refuse_others(then: object, into: object) -> None:
    """Raise InvalidInputError for what is no continuation, and no batch of a running job."""
    if not (then is None or isinstance(then, After)):
        raise InvalidInputError(f"then={shown(then)}: use After(task, payload)")
    if not (into is None or isinstance(into, BatchRef)):
        raise InvalidInputError(
            f"into={shown(into)}: use ctx.batch of a running job; it is None in one of no batch"
        )


def ask_home(config: PoolConfig, batch: str, verb: Verb[Any]) -> Steps[Any]:
    """Run a verb, which may be repeated, at the home of a batch."""
    slot, pool = home_of_batch(batch)

    def asking(view: View) -> Steps[Any]:
        routed = flow.by_route(verb, view.version_for(slot))
        return ask(config.of(pool), view.place_of_slot(slot), routed)

    return (yield from following(config, asking))


def begin(
    producer: Producer,
    sender: Sender,
    after: After,
    partition_key: Any,
    within: BatchRef | None,
    trace: str | None = None,
) -> Steps[Numbers]:
    """Define a batch, and enqueue its continuation; return the numbers of its jobs.

    trace: the traceparent of the call. Raises InvalidInputError if it is over, unless an earlier
    attempt of the job that opened it within another enqueued all of it; and what enqueue raises.
    """
    if producer.config.topology.view.record is None:
        yield Verify()
    parent, make = None, continuation(producer, after, partition_key, trace)
    make.chunk(None)  # refused before anything is written
    if within is not None:
        inner = make.hint_of_parent(within)
        grown = yield from _grow(producer.config, within, 1, inner=inner)
        if grown.first in grown.ended:
            return Numbers(inner, 0, ended=ALL_ENDED)
        parent = within.name, grown.first
    name, chunk = make.chunk(parent)
    verb = _record(after, name, chunk, make.task, "" if parent is None else parent[0])
    since_s = monotonic()
    mine = after if within is None else None
    with unfinished(name, mine, MAY_BE_THERE):
        opened: flow.Opened = yield from ask_home(producer.config, name, verb)
    if opened.state is not BatchState.OPEN:
        whole = yield from was_enqueued(producer.config, name)
        if within is not None and whole:
            return Numbers(name, 0, ended=ALL_ENDED)
        raise _over(name, opened.state, after, whole=whole)
    with unfinished(name, mine):
        late = yield from _store(sender, name, chunk, after, since_s)
    if late is not None:
        raise late
    yield from _end_with(producer.config, within, name)
    return Numbers(name, 0, opened.jobs, opened.ended)


def _over(name: str, state: BatchState, after: After, *, whole: bool) -> InvalidInputError:
    """Return why a batch takes no more jobs. whole: an earlier call enqueued all of it."""
    remedy = (
        f"an earlier call with batch_id={shown(after.batch_id)} did it all, so there is nothing to "
        "repeat; other jobs need another batch_id"
        if whole
        else "use another batch_id"
    )
    return InvalidInputError(
        f"batch {name} is {state}: it has concluded, so no job can be added. Nothing was "
        f"enqueued; {remedy}"
    )


def _store(
    sender: Sender, name: str, chunk: Chunk, after: After, since_s: float
) -> Steps[InvalidInputError | None]:
    """Store the continuation; return why its batch, defined since then, is over, None if not.

    Nor if it was cancelled, or another call enqueued all of it: that is seen when it is sealed.
    """
    yield from sender.one(chunk)
    if monotonic() - since_s <= after.deadline_s:
        return None
    config = sender.config
    found: BatchStatus = yield from ask_home(config, name, flow.batch(name))
    if found.sealed or found.state in (BatchState.OPEN, BatchState.CANCELLED):
        return None
    if found.state is BatchState.UNKNOWN:
        verb = produce.cancel(chunk.ids[0].decode(), produce.ANY_VERSION)
        yield from ask_home(config, name, verb)
    return InvalidInputError(
        f"batch {name} is {found.state}: its deadline passed while it was being defined. None of "
        f"its jobs was enqueued; {use_longer(after)}"
    )


def _record(after: After, name: str, chunk: Chunk, called: str, within: str) -> Verb[flow.Opened]:
    return flow.open_batch(
        name,
        chunk.ids[0].decode(),
        on_failure=after.on_failure,
        on_deadline=after.late,
        deadline_ms=round(after.deadline_s * 1000),
        keep_ms=round(after.keep_s * 1000),
        called=called,
        within=within,
    )


def was_enqueued(config: PoolConfig, name: str) -> Steps[bool]:
    """Return whether all jobs of a batch were enqueued before it concluded, and none cancelled."""
    found: BatchStatus = yield from ask_home(config, name, flow.batch(name))
    return found.sealed and found.state is not BatchState.CANCELLED


def cancel_record(config: PoolConfig, name: str) -> Steps[None]:
    """Conclude a batch as cancelled, and cancel its continuation; its jobs are left as they are."""
    _state, job_id = yield from ask_home(config, name, flow.cancel_batch(name))
    if job_id:
        yield from ask_home(config, name, produce.cancel(job_id, produce.ANY_VERSION))


def undone(
    config: PoolConfig, name: str, after: After | None, results: EnqueueResults[Any]
) -> Steps[bool]:
    """Cancel a batch if an error left it without jobs, and no other call may have added some.

    after: None if a running job repeats the call. Return whether it is cancelled.
    """
    if after is None or after.batch_id is not None or results.rejected < results.jobs:
        return False
    try:
        yield from cancel_record(config, name)
    except QueuePoolError:
        return False
    return True


def _end_with(config: PoolConfig, within: BatchRef | None, name: str) -> Steps[None]:
    """Cancel a batch that was opened in another one if that was cancelled meanwhile.

    Who cancels the outer one later finds it. Raises InvalidInputError.
    """
    if within is None:
        return
    if not (yield from is_cancelled(config, within.name)):
        return
    yield from cancel_record(config, name)
    raise InvalidInputError(
        f"batch {within.name} is cancelled, so no job can be added; {name}, opened in it, is too"
    )


def seal(config: PoolConfig, name: str, jobs: int, after: After | None = None) -> Steps[BatchState]:
    """Say how many jobs a batch has; return OPEN, or what it is if it is over.

    after: of the caller who is told if it fails. Raises InvalidInputError if it had another number.
    """
    with unfinished(name, after, NOT_SEALED):
        sealed: BatchState | int = yield from ask_home(config, name, flow.seal_batch(name, jobs))
    if sealed == -1:
        raise InvalidInputError(
            f"batch {name} was enqueued before with another number of jobs than {jobs:,}: repeat "
            f"the call with the same jobs, in the same order"
        )
    return sealed if isinstance(sealed, BatchState) else BatchState.OPEN


def is_cancelled(config: PoolConfig, name: str) -> Steps[bool]:
    """Return whether a batch was cancelled."""
    found: BatchStatus = yield from ask_home(config, name, flow.batch(name))
    return found.state is BatchState.CANCELLED


def grow(config: PoolConfig, into: BatchRef, jobs: int) -> Steps[Numbers]:
    """Reserve numbers for jobs that a job adds to its batch. Raises InvalidInputError."""
    grown = yield from _grow(config, into, jobs)
    return Numbers(into.name, grown.first, grown.count, grown.ended)


def _grow(config: PoolConfig, into: BatchRef, jobs: int, *, inner: str = "") -> Steps[flow.Grown]:
    verb = flow.grow_batch(into.name, into.next_call(), jobs, inner=inner)
    waited_s = 0.0
    while True:
        grown: flow.Grown = yield from ask_home(config, into.name, verb)
        if grown.refused != "OPEN":
            break
        if waited_s >= _SEAL_WAIT_S:
            raise UnavailableError(
                f"batch {into.name} is still being enqueued: nothing was added; this job may try "
                "again later"
            )
        waited_s += _SEAL_PAUSE_S
        yield Pause(_SEAL_PAUSE_S)
    if grown.refused:
        why = (
            f"it may have {MAX_JOBS:,} jobs"
            if grown.refused == "FULL"
            else f"it is {grown.state}, so no job can be added"
        )
        raise InvalidInputError(f"batch {into.name}: {why}")
    if grown.count != jobs:
        raise InvalidInputError(
            f"batch {into.name}: an earlier attempt of job {into.number} added {grown.count:,} "
            f"jobs by its call {into.calls}, this one {jobs:,}: each attempt must add the same"
        )
    return grown
