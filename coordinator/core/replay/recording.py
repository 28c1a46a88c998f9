"""A recording: cycles as lines of JSON, from which each can be decided again, bit by bit. Pure.

    ["queuepool",1,"0.2.0","video"]      format, release, pool; begins a file, and may come again
    ["planner","sized",1,{...},...]      what decides from here on
    ["state",[[0,8,"",1.5,...],...]]     what the leader remembers; decisions go on from it
    ["cycle",1795194000000,12.5,...]     what was observed; the targets, and a digest of the plan
    ["end","stopped"]                    why it ends; missing if the writer was killed

A state follows only where the cycles do not join: at the start, after a gap, of a new leader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import msgspec

from coordinator.core.memory import OwnBound, PartitionMemory, PendingCommand
from coordinator.core.model import Mode
from coordinator.core.overlays.sharing import Room
from coordinator.core.overlays.values import parse
from coordinator.core.planner import CyclePlan, Planner
from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.readings import Reading, observation_of, reading_of
from coordinator.policy import Limits, make_policy, settings_of
from coordinator.policy.demand import Demand
from queuepool.models.places import DEFAULT_POOL

FORMAT: Final = 1


class BadRecordingError(ValueError):
    """A line is no part of a recording that this release reads."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


class Head(msgspec.Struct, array_like=True, tag="queuepool"):
    """How the lines are written. pool: whose workers are decided about."""

    format: int
    release: str
    pool: str = DEFAULT_POOL


class PlannerLine(msgspec.Struct, array_like=True, tag="planner"):
    """What decides. settings: of the policy; values: the scaling record."""

    policy: str
    version: int
    settings: dict[str, Any]
    limits: tuple[int, int]
    values: dict[str, str]
    record_version: int
    cycle_s: float
    command_ttl_s: float
    forget_s: float
    room: Room | None = None

    def planner(self) -> Planner:
        """Return the planner. Raises ValueError if this release has none like it."""
        least, most = self.limits
        return Planner(
            policy=make_policy(self.policy, **settings_of(self.policy, self.settings)),
            limits=Limits(min_workers=least, max_workers=most),
            overrides=parse(self.values),
            values=self.values,
            record_version=self.record_version,
            cycle_s=self.cycle_s,
            command_ttl_s=self.command_ttl_s,
            forget_s=self.forget_s,
            room=self.room,
        )


_Kind = tuple[str, tuple[str, ...], str]  # of a decision: its mode, clamps and doubt


class _Memory(msgspec.Struct, array_like=True):
    partition: int
    target: int
    reason: str
    seen_s: float
    manual: bool
    sequence: int
    pending: PendingCommand | None
    noted: _Kind | None
    held: list[tuple[_Kind, float]]
    demand: Demand | None
    last: tuple[int, int]
    policy: dict[str, Any] | None
    own: OwnBound | None = None


class StateLine(msgspec.Struct, array_like=True, tag="state"):
    """What a leader remembers of each partition."""

    memories: list[_Memory]


class CycleLine(msgspec.Struct, array_like=True, tag="cycle"):
    """One cycle. targets: in the order of the readings; digest: empty if nobody decided."""

    epoch: int
    now_ms: int
    now_s: float
    manual: dict[int, int]
    readings: list[Reading]
    targets: list[int]
    digest: str


class EndLine(msgspec.Struct, array_like=True, tag="end"):
    """Why a recording ends."""

    why: str


Line = Head | PlannerLine | StateLine | CycleLine | EndLine
_lines: Final = msgspec.json.Decoder(Line)


class Recorder:
    """Turns cycles into lines. Used by one thread at a time."""

    def __init__(self, release: str, pool: str = DEFAULT_POOL) -> None:
        self._head = Head(FORMAT, release, pool)
        self._planner: Planner | None = None
        self._after: Mapping[int, PartitionMemory] | None = None

    def lines(self, cycle: Cycle) -> Iterator[bytes]:
        """Yield the lines of one more cycle, each with its line break."""
        if self._after is None:
            yield _encoded(self._head)
        if cycle.planner is not self._planner:
            yield _encoded(_planner_line(cycle.planner))
        # The plan of one cycle is the start of the next: anything else is a gap.
        if cycle.memories is not self._after:
            kind = type(cycle.planner.policy.initial(1))
            yield _encoded(StateLine([_memory_line(*one, kind) for one in cycle.memories.items()]))
        self._planner = cycle.planner
        self._after = cycle.memories if cycle.plan is None else cycle.plan.memories
        yield _encoded(_cycle_line(cycle))


def end_line(why: str) -> bytes:
    """Return the last line of a recording."""
    return _encoded(EndLine(why))


def read_line(raw: bytes, number: int) -> Line:
    """Return one line. number: from 1, for the error. Raises BadRecordingError."""
    try:
        line: Line = _lines.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRecordingError(number, f"not part of a recording: {error}") from None
    if isinstance(line, Head) and line.format != FORMAT:
        problem = f"format {line.format}, of release {line.release[:40]}; {FORMAT} is understood"
        raise BadRecordingError(number, problem)
    return line


def digest(plan: CyclePlan) -> str:
    """Return a hash of everything that a plan decides, and of what it notes."""
    noted = [decision.partition for decision in plan.notable]
    text = msgspec.json.encode((plan.decisions, noted))
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def memories_of(line: StateLine, planner: Planner) -> dict[int, PartitionMemory]:
    """Return what a leader with this planner remembered. Raises ValueError."""
    kind = type(planner.policy.initial(1))
    return {one.partition: _memory(one, kind) for one in line.memories}


def cycle_of(line: CycleLine, planner: Planner, memories: Mapping[int, PartitionMemory]) -> Cycle:
    """Return the cycle of a line, between these memories and an unknown plan."""
    return Cycle(
        planner=planner,
        epoch=line.epoch,
        memories=memories,
        observations=[observation_of(one) for one in line.readings],
        manual=line.manual,
        now_s=line.now_s,
        now_ms=line.now_ms,
        plan=None,
    )


def _encoded(line: Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _planner_line(planner: Planner) -> PlannerLine:
    return PlannerLine(
        policy=planner.policy.name,
        version=planner.policy.version,
        settings=asdict(planner.policy.settings),
        limits=(planner.limits.min_workers, planner.limits.max_workers),
        values=dict(planner.values),
        record_version=planner.record_version,
        cycle_s=planner.cycle_s,
        command_ttl_s=planner.command_ttl_s,
        forget_s=planner.forget_s,
        room=planner.room,
    )


def _cycle_line(cycle: Cycle) -> CycleLine:
    plan = cycle.plan
    return CycleLine(
        epoch=cycle.epoch,
        now_ms=cycle.now_ms,
        now_s=cycle.now_s,
        manual=dict(cycle.manual),
        readings=[reading_of(seen) for seen in cycle.observations],
        targets=[] if plan is None else [decision.target for decision in plan.decisions],
        digest="" if plan is None else digest(plan),
    )


def _memory_line(partition: int, memory: PartitionMemory, kind: type[Any]) -> _Memory:
    """Return a memory as it is recorded. kind: the state of the policy that goes on from it.

    Of another policy's state, that one takes only the target (see `Policy.decide`).
    """
    noted: Any = memory.noted or None
    held: Any = list(memory.held)
    policy = None if memory.policy is None else msgspec.to_builtins(memory.policy)
    if policy is not None and not isinstance(memory.policy, kind):
        policy = {"target": policy["target"]}
    return _Memory(
        partition=partition,
        target=memory.target,
        reason=memory.reason,
        seen_s=memory.seen_s,
        manual=memory.manual,
        sequence=memory.sequence,
        pending=memory.pending,
        noted=noted,
        held=held,
        demand=memory.demand,
        last=memory.last,
        policy=policy,
        own=memory.own,
    )


def _memory(line: _Memory, kind: type[Any]) -> PartitionMemory:
    return PartitionMemory(
        policy=None if line.policy is None else msgspec.convert(line.policy, kind, strict=True),
        target=line.target,
        reason=line.reason,
        seen_s=line.seen_s,
        manual=line.manual,
        sequence=line.sequence,
        pending=line.pending,
        noted=() if line.noted is None else _kind(line.noted),
        held=tuple((_kind(kind_), at_s) for kind_, at_s in line.held),
        demand=line.demand,
        last=line.last,
        own=line.own,
    )


def _kind(kind: _Kind) -> tuple[object, ...]:
    mode, clamps, doubt = kind
    return Mode(mode), clamps, doubt
