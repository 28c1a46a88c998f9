"""Scenario files: TOML, converted into a scenario. Pure; `read` gives the text of another file.

docs/simulation.md describes every key.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Annotated

import msgspec

from coordinator.policy import Limits
from coordinator.simulator import scenario as made
from coordinator.simulator.inputs import BadFileError, Trace, line_of, parse_trace

Read = Callable[[str], str]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e8)]
Above = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=0, le=20_000_000)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=4096)]
_SLICE_S = 1.0  # a rate that changes does so in steps of this length


class _Spec(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class _Arrivals(_Spec):
    at_s: Seconds | None = None
    count: Count | None = None
    every_s: Above | None = None
    from_s: Seconds = 0.0
    until_s: Seconds | None = None
    per_s: Seconds | None = None
    end_per_s: Seconds | None = None
    trace: str | None = None
    row_s: Above = 10.0
    mean_per_s: Above | None = None


class _Stream(_Spec):
    name: str
    arrivals: list[_Arrivals]
    service_s: Above = 0.12
    cv: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.0
    tier: str = "default"
    lanes: Positive = 1
    partition: int | None = None
    limit: str = ""


class _Limit(_Spec):
    name: str
    per_s: Above = math.inf
    burst: Annotated[float, msgspec.Meta(ge=1, le=1e6)] = 1.0
    concurrency: Positive | None = None


class _Hidden(_Spec):
    per_s: Above = math.inf
    concurrency: Annotated[int, msgspec.Meta(ge=0, le=4096)] = 0


class _Event(_Spec):
    at_s: Seconds
    kind: str
    for_s: Seconds | None = None
    by_s: Seconds | None = None
    service_s: Above | None = None
    stream: str = ""
    partition: int | None = None
    min_workers: Positive | None = None
    max_workers: Positive | None = None


class _File(_Spec):
    streams: list[_Stream]
    until_s: Above
    name: str = ""
    limits: list[_Limit] = []
    hidden: _Hidden = msgspec.field(default_factory=_Hidden)
    events: list[_Event] = []
    partitions: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    min_workers: Positive = 8
    max_workers: Positive = 64
    workers: Annotated[int, msgspec.Meta(ge=0, le=4096)] = 0
    cycle_s: Above = 1.0
    hears_s: Seconds = 0.2
    reports_s: Seconds = 1.0
    tau_s: Above = 600.0
    seed: int = 0


class _WrongError(ValueError):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(problem)
        self.path = path


def parse_scenario(text: str, name: str, read: Read) -> made.Scenario:
    """Return the scenario of a file. Raises BadFileError with the line of what is wrong."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem, _, place = str(error).partition(" (at ")
        digits = "".join(c for c in place.partition(",")[0] if c.isdigit())
        raise BadFileError(name, int(digits or text.count("\n") + 1), problem) from None
    try:
        return _scenario(msgspec.convert(raw, _File), name, read)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `")
        unknown = re.search(r"unknown field `(\w+)`", problem)
        if unknown:
            path = f"{path or '$'}.{unknown[1]}"
        raise BadFileError(name, line_of(text, path), problem) from None
    except _WrongError as error:
        raise BadFileError(name, line_of(text, error.path), str(error)) from None


def _scenario(file: _File, name: str, read: Read) -> made.Scenario:
    known = {limit.name for limit in file.limits}
    if file.max_workers < file.min_workers:
        raise _WrongError("$.max_workers", "max_workers must not be below min_workers")
    streams = tuple(
        _stream(spec, f"$.streams[{index}]", known, file.partitions, read)
        for index, spec in enumerate(file.streams)
    )
    return made.Scenario(
        name=file.name or name.rpartition("/")[2],
        streams=streams,
        limits=tuple(
            made.Limit(
                name=limit.name,
                per_s=limit.per_s,
                burst=limit.burst,
                concurrency=limit.concurrency or math.inf,
            )
            for limit in file.limits
        ),
        hidden=made.Hidden(per_s=file.hidden.per_s, concurrency=file.hidden.concurrency),
        events=tuple(
            _event(spec, f"$.events[{index}]", file) for index, spec in enumerate(file.events)
        ),
        bounds=Limits(min_workers=file.min_workers, max_workers=file.max_workers),
        **{
            key: getattr(file, key)
            for key in ("partitions", "workers", "cycle_s", "hears_s", "reports_s", "tau_s",
                        "until_s", "seed")
        },
    )  # fmt: skip


def _stream(spec: _Stream, path: str, limits: set[str], partitions: int, read: Read) -> made.Stream:
    if spec.tier not in made.TIERS:
        raise _WrongError(f"{path}.tier", f"tier {spec.tier!r}: one of {', '.join(made.TIERS)}")
    if spec.limit and spec.limit not in limits:
        raise _WrongError(f"{path}.limit", f"there is no limit {spec.limit!r} in [[limits]]")
    _check_partition(spec.partition, path, partitions)
    return made.Stream(
        name=spec.name,
        arrivals=tuple(
            arrival
            for index, each in enumerate(spec.arrivals)
            for arrival in _arrivals(each, f"{path}.arrivals[{index}]", read)
        ),
        service_s=spec.service_s,
        cv=spec.cv,
        tier=made.TIERS.index(spec.tier),
        lanes=spec.lanes,
        partition=spec.partition,
        limit=spec.limit,
    )


def _check_partition(number: int | None, path: str, partitions: int) -> None:
    if number is not None and not 0 <= number < partitions:
        raise _WrongError(
            f"{path}.partition", f"partition {number}: there are {partitions}, from 0 on"
        )


def _arrivals(spec: _Arrivals, path: str, read: Read) -> Iterator[made.Burst | made.Flow]:
    if spec.trace is not None:
        trace = parse_trace(read(spec.trace), spec.trace)
        yield from flows_of(trace, spec.mean_per_s or trace.mean, spec.row_s, spec.from_s)
    elif spec.at_s is not None and spec.count is not None:
        yield made.Burst(at_s=spec.at_s, count=spec.count)
    elif spec.until_s is None:
        raise _WrongError(
            path, "give at_s and count, or until_s with per_s or with every_s and count, or trace"
        )
    elif spec.every_s is not None and spec.count is not None:
        times = int(max(spec.until_s - spec.from_s, 0) / spec.every_s) + 1
        for index in range(min(times, 1_000_000)):
            yield made.Burst(at_s=spec.from_s + index * spec.every_s, count=spec.count)
    elif spec.per_s is not None:
        yield from _ramp(spec.from_s, spec.until_s, spec.per_s, spec.end_per_s)
    else:
        raise _WrongError(path, "give per_s, or every_s and count")


def _ramp(from_s: float, until_s: float, per_s: float, end_per_s: float | None) -> list[made.Flow]:
    if end_per_s is None or until_s <= from_s:
        return [made.Flow(from_s=from_s, until_s=until_s, per_s=per_s)]
    slices = min(max(int((until_s - from_s) / _SLICE_S), 1), 100_000)
    step_s = (until_s - from_s) / slices
    return [
        made.Flow(
            from_s=from_s + index * step_s,
            until_s=from_s + (index + 1) * step_s,
            per_s=per_s + (end_per_s - per_s) * (index + 0.5) / slices,
        )
        for index in range(slices)
    ]


def flows_of(
    trace: Trace, mean_per_s: float, row_s: float, from_s: float = 0.0
) -> tuple[made.Flow, ...]:
    """Return random arrivals that follow a trace, with this mean rate. row_s: of one row."""
    return tuple(
        made.Flow(
            from_s=from_s + index * row_s,
            until_s=from_s + (index + 1) * row_s,
            per_s=value / trace.mean * mean_per_s,
        )
        for index, value in enumerate(trace.values)
    )


def _event(spec: _Event, path: str, file: _File) -> made.Event:
    def need(name: str) -> float:
        value: float | None = getattr(spec, name)
        if value is None:
            raise _WrongError(path, f"an event of kind {spec.kind!r} needs {name}")
        return value

    _check_partition(spec.partition, path, file.partitions)
    match spec.kind:
        case "service":
            if spec.stream not in ("", *(stream.name for stream in file.streams)):
                raise _WrongError(f"{path}.stream", f"there is no stream {spec.stream!r}")
            return made.ServiceChanges(
                at_s=spec.at_s, service_s=need("service_s"), stream=spec.stream
            )
        case "blind":
            return made.Blind(at_s=spec.at_s, for_s=need("for_s"), partition=spec.partition)
        case "leaderless":
            return made.Leaderless(at_s=spec.at_s, for_s=need("for_s"))
        case "late":
            return made.LateCounts(at_s=spec.at_s, for_s=need("for_s"), by_s=need("by_s"))
        case "restart":
            return made.Restart(at_s=spec.at_s, for_s=need("for_s"), partition=spec.partition or 0)
        case "bounds":
            least, most = spec.min_workers or file.min_workers, spec.max_workers or file.max_workers
            if most < least:
                raise _WrongError(f"{path}.max_workers", "max_workers is below min_workers")
            return made.BoundsChange(
                at_s=spec.at_s, bounds=Limits(min_workers=least, max_workers=most)
            )
    raise _WrongError(
        f"{path}.kind",
        f"kind {spec.kind!r}: one of service, blind, leaderless, late, restart, bounds",
    )
