"""An observation as a short list of a recording: what a planner looks at, and no more. Pure."""

from __future__ import annotations

import msgspec

from coordinator.core.model import Observation, finished_total
from coordinator.policy import LimitUse
from queuepool.models import Owner, PartitionState
from queuepool.models.work import EndedWork


class _Owner(msgspec.Struct, array_like=True):
    epoch: int
    lease_ms: int
    workers: int
    busy: int
    target: int
    applied: str
    heartbeat_ms: int
    cpu: float | None = None
    memory: float | None = None


class _Seen(msgspec.Struct, array_like=True):
    observed_ms: int
    ready: tuple[int, int, int, int]
    in_flight: int
    parked: int
    enqueued: int
    finished: int
    owner: _Owner | None
    jobs: int


class Reading(msgspec.Struct, array_like=True):
    """What was observed of one partition. seen: None if that failed, and `problem` says why."""

    partition: int
    at_s: float
    seen: _Seen | None
    problem: str = ""
    limits: list[LimitUse] = []
    work: EndedWork | None = None


def reading_of(seen: Observation) -> Reading:
    """Return an observation as it is recorded."""
    state = seen.state
    return Reading(
        partition=seen.partition,
        at_s=seen.at_s,
        seen=None if state is None else _seen(state),
        problem=seen.problem,
        limits=[] if state is None or state.owner is None else list(state.owner.limits),
        work=None if state is None or state.owner is None else state.owner.work,
    )


def observation_of(reading: Reading) -> Observation:
    """Return what was recorded; what no planner looks at is empty."""
    seen, partition = reading.seen, reading.partition
    return Observation(
        partition=partition,
        at_s=reading.at_s,
        state=None if seen is None else _state(partition, seen, reading),
        problem=reading.problem,
    )


def _seen(state: PartitionState) -> _Seen:
    owner = state.owner
    return _Seen(
        observed_ms=state.observed_ms,
        ready=state.ready,
        in_flight=state.in_flight,
        parked=state.parked,
        enqueued=state.counters.get("enqueued", 0),
        finished=finished_total(state),
        owner=None
        if owner is None
        else _Owner(
            epoch=owner.epoch,
            lease_ms=owner.lease_ms,
            workers=owner.workers,
            busy=owner.busy,
            target=owner.target,
            applied=owner.applied,
            heartbeat_ms=owner.heartbeat_ms,
            cpu=owner.cpu,
            memory=owner.memory,
        ),
        jobs=state.jobs,
    )


def _state(partition: int, seen: _Seen, reading: Reading) -> PartitionState:
    owner = seen.owner
    return PartitionState(
        partition=partition,
        observed_ms=seen.observed_ms,
        ready=seen.ready,
        lanes=(0, 0, 0, 0),
        jobs=seen.jobs,
        bytes=0,
        delayed=0,
        in_flight=seen.in_flight,
        dead=0,
        oldest_ms=0,
        books=0,
        draining=0,
        counters={"enqueued": seen.enqueued, "done": seen.finished},
        owner=None
        if owner is None
        else Owner(
            host="",
            epoch=owner.epoch,
            lease_ms=owner.lease_ms,
            heartbeat_ms=owner.heartbeat_ms,
            workers=owner.workers,
            busy=owner.busy,
            target=owner.target,
            applied=owner.applied,
            cpu=owner.cpu,
            memory=owner.memory,
            limits=tuple(reading.limits),
            work=reading.work,
        ),
        checkpoint=None,
        checkpoint_ms=None,
        last_command="",
        parked=seen.parked,
    )
