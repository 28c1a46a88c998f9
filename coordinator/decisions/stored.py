"""How a decision is stored: as a short JSON list, and its outcome some cycles later as another.

    [2,1795194860508,1795194000000,861,"sized",1,"automatic",16,32,"...",[],[],[146,16,16],...]
    [3,1795194865530,1795194000000,861,5,32,30,12,131.5]      of that epoch and cycle

Releases before 0.2.0 stored JSON objects, which are read as well. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct

from coordinator.core.model import Clamp, Inputs, Mode, PartitionDecision, Target
from queuepool.protocol.unreadable import UNREADABLE

_DECISION, _OUTCOME = 2, 3


class Unsent(StrEnum):
    """Why a command is not known to have informed the consumer."""

    REFUSED = "refused"  # it was not sent, or a server or a newer leader kept it out
    UNKNOWN = "unknown"  # its reply was lost


class Outcome(Struct, frozen=True, kw_only=True):
    """What was seen some cycles after a decision, or at the next one if that came before."""

    at_ms: int
    cycles: int
    workers: int
    busy: int
    backlog: int
    finished_per_s: float


class DecisionRecord(Target, frozen=True, kw_only=True):
    """One decision as stored. command: id of the command that informed the consumer, or empty.

    record_version: of the scaling record that held. outcome: None if it is not known (yet). unsent:
    one of `Unsent` where a command was needed, and not known to have arrived; else empty.
    """

    at_ms: int
    epoch: int
    cycle: int
    policy: str
    version: int
    finished_per_s: float = 0.0
    command: str = ""
    record_version: int = 0
    outcome: Outcome | None = None
    unsent: str = ""


_OF_TARGETS: Final = Target.__struct_fields__


def record_of(
    decision: PartitionDecision,
    *,
    at_ms: int,
    epoch: int,
    cycle: int,
    policy: str,
    version: int,
    finished_per_s: float,
    record_version: int,
    unsent: str = "",
) -> DecisionRecord:
    """Return a decision as it is recorded. policy, version: of what decides automatically."""
    by_hand, command = decision.mode is Mode.MANUAL, decision.command
    return DecisionRecord(
        **{name: getattr(decision, name) for name in _OF_TARGETS},
        at_ms=at_ms,
        epoch=epoch,
        cycle=cycle,
        policy="manual" if by_hand else policy,
        version=0 if by_hand else version,
        finished_per_s=finished_per_s,
        command=f"{epoch}-{command.sequence}" if command is not None and not unsent else "",
        record_version=record_version,
        unsent=unsent,
    )


class _Decision(msgspec.Struct, array_like=True, gc=False):
    kind: int
    at_ms: int
    epoch: int
    cycle: int
    policy: str
    version: int
    mode: Mode
    previous: int
    target: int
    reason: str
    clamps: tuple[str, ...] = ()
    moved: tuple[tuple[str, int, int, str], ...] = ()
    inputs: tuple[int, int, int, int, int, int] | None = None
    figures: tuple[float, ...] = ()
    finished_per_s: float = 0.0
    sequence: int | None = None
    record_version: int = 0
    unsent: str = ""


class _Outcome(msgspec.Struct, array_like=True, gc=False):
    kind: int
    at_ms: int
    epoch: int
    cycle: int
    cycles: int
    workers: int
    busy: int
    backlog: int
    finished_per_s: float


_objects: Final = msgspec.json.Decoder(DecisionRecord)
_decisions: Final = msgspec.json.Decoder(_Decision)
_outcomes: Final = msgspec.json.Decoder(_Outcome)


def encode(record: DecisionRecord) -> bytes:
    """Return a decision as it is stored, without its partition and outcome."""
    seen, _, sequence = record.inputs, *record.command.rpartition("-")[1:]
    return msgspec.json.encode(
        _Decision(
            kind=_DECISION,
            at_ms=record.at_ms,
            epoch=record.epoch,
            cycle=record.cycle,
            policy=record.policy,
            version=record.version,
            mode=record.mode,
            previous=record.previous,
            target=record.target,
            reason=record.reason,
            clamps=record.clamps,
            moved=tuple((one.name, one.before, one.after, one.why) for one in record.moved),
            inputs=None
            if seen is None
            else (
                seen.backlog,
                seen.workers,
                seen.busy,
                seen.reported,
                seen.finished_total,
                seen.in_flight,
            ),
            figures=tuple(map(_shortest, record.figures)),
            finished_per_s=record.finished_per_s,
            sequence=int(sequence) if sequence else None,
            record_version=record.record_version,
            unsent=record.unsent,
        )
    )


def encode_outcome(epoch: int, cycle: int, outcome: Outcome) -> bytes:
    """Return the outcome of the decision of an epoch and cycle as it is stored."""
    return msgspec.json.encode(
        _Outcome(
            kind=_OUTCOME,
            at_ms=outcome.at_ms,
            epoch=epoch,
            cycle=cycle,
            cycles=outcome.cycles,
            workers=outcome.workers,
            busy=outcome.busy,
            backlog=outcome.backlog,
            finished_per_s=outcome.finished_per_s,
        )
    )


def decode(raw: bytes, partition: int) -> DecisionRecord | tuple[int, int, Outcome] | None:
    """Return a stored decision, or (epoch, cycle, outcome), or None for what cannot be read."""
    try:
        if raw[:1] == b"{":
            return _objects.decode(raw)
        if raw[:2] == b"[3":
            found = _outcomes.decode(raw)
            return found.epoch, found.cycle, _outcome(found)
        stored = _decisions.decode(raw)
        return _record(stored, partition) if stored.kind == _DECISION else None
    except (*UNREADABLE, ValueError):  # of another version: skip what cannot be read
        return None


def _outcome(found: _Outcome) -> Outcome:
    return Outcome(
        at_ms=found.at_ms,
        cycles=found.cycles,
        workers=found.workers,
        busy=found.busy,
        backlog=found.backlog,
        finished_per_s=found.finished_per_s,
    )


def _record(stored: _Decision, partition: int) -> DecisionRecord:
    moved = [
        Clamp(name=name, before=before, after=after, why=why)
        for name, before, after, why in stored.moved
    ]
    command = "" if stored.sequence is None else f"{stored.epoch}-{stored.sequence}"
    return DecisionRecord(
        at_ms=stored.at_ms,
        partition=partition,
        epoch=stored.epoch,
        cycle=stored.cycle,
        policy=stored.policy,
        version=stored.version,
        mode=stored.mode,
        previous=stored.previous,
        target=stored.target,
        reason=stored.reason,
        clamps=stored.clamps,
        moved=tuple(moved),
        inputs=None if stored.inputs is None else _inputs(stored.inputs),
        figures=stored.figures,
        finished_per_s=stored.finished_per_s,
        command=command,
        record_version=stored.record_version,
        unsent=stored.unsent,
    )


def _inputs(stored: Sequence[int]) -> Inputs:
    backlog, workers, busy, reported, finished_total, in_flight = stored
    return Inputs(
        backlog=backlog,
        workers=workers,
        busy=busy,
        reported=reported,
        pwqd=round(backlog / max(workers, 1), 3),
        finished_total=finished_total,
        in_flight=in_flight,
    )


def _shortest(value: float) -> Any:
    """Return a number as its shortest text: a whole one without a point."""
    return int(value) if isinstance(value, int) or value.is_integer() else value
