"""Decides a recording again: by what decided then, or by another policy. Pure.

By what decided then, every plan must be the same, bit by bit. Another policy would have changed
what happened, so its decisions are made in a would-be world (see `shadow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from coordinator.core.memory import PartitionMemory
from coordinator.core.planner import Planner
from coordinator.core.replay import recording
from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.recording import BadRecordingError, CycleLine, EndLine
from queuepool.models.places import DEFAULT_POOL


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first decision that came out otherwise. partition: None if only its reasons differ."""

    cycle: int
    at_ms: int
    partition: int | None
    recorded: int
    replayed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One cycle, decided again. recorded: whether somebody decided then."""

    cycle: Cycle
    recorded: bool
    difference: Difference | None
    pool: str = DEFAULT_POOL


def replayed(lines: Iterable[bytes]) -> Iterator[Replayed]:
    """Yield each cycle of a recording, decided again by what decided then.

    Raises BadRecordingError. An incomplete last line, of a writer that was killed, ends it.
    """
    planner: Planner | None = None
    memories: Mapping[int, PartitionMemory] | None = None
    count, pool = 0, DEFAULT_POOL
    for number, raw in enumerate(lines, 1):
        if not raw.endswith(b"\n"):
            return
        line = recording.read_line(raw, number)
        try:
            match line:
                case recording.PlannerLine():
                    planner = line.planner()
                    _check_version(line, planner)
                case recording.StateLine() if planner is not None:
                    memories = recording.memories_of(line, planner)
                case CycleLine() if planner is not None and memories is not None:
                    count += 1
                    one = _decided(line, planner, memories, count)
                    memories = one.cycle.plan.memories if one.cycle.plan is not None else memories
                    yield replace(one, pool=pool)
                case recording.Head():
                    pool = line.pool
                case EndLine():
                    pass
                case _:
                    raise ValueError("a planner and a state must precede cycles")
        except BadRecordingError:
            raise
        except (ValueError, TypeError, ArithmeticError, msgspec.MsgspecError) as error:
            raise BadRecordingError(number, str(error)[:300]) from None


def _check_version(line: recording.PlannerLine, planner: Planner) -> None:
    if line.version != planner.policy.version:
        raise ValueError(
            f"policy {line.policy} had version {line.version}; this release has "
            f"{planner.policy.version}, which decides differently"
        )


def _decided(
    line: CycleLine, planner: Planner, memories: Mapping[int, PartitionMemory], count: int
) -> Replayed:
    cycle = recording.cycle_of(line, planner, memories)
    plan = cycle.planned_by(planner)
    return Replayed(
        cycle=replace(cycle, plan=plan),
        recorded=bool(line.digest),
        difference=None
        if not line.digest or line.digest == recording.digest(plan)
        else _difference(line, [one.target for one in plan.decisions], count),
    )


def _difference(line: CycleLine, targets: list[int], count: int) -> Difference:
    pairs = zip(line.readings, line.targets, targets, strict=False)
    found = next((one for one in pairs if one[1] != one[2]), None)
    return Difference(
        cycle=count,
        at_ms=line.now_ms,
        partition=None if found is None else found[0].partition,
        recorded=0 if found is None else found[1],
        replayed=0 if found is None else found[2],
    )
