"""An operator's view of a cluster, whatever its source. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from queuepool.errors import UnavailableError
from queuepool.models import Eta, PartitionState
from queuepool.models.cluster import Owner, has_work
from queuepool.models.eta import Pace, Part, foretell, last_of, part_of
from queuepool.models.places import DEFAULT_POOL, place_text

_ENDED = ("done", "retried", "died")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """One partition at one moment. lease_ms <= 0: the owner is overdue. per_s: executions ended.

    draining: consumers that end: the owner, if it was asked to, and former ones that finish jobs.
    problem: why the rest is old or missing; empty if there is none.
    """

    partition: int
    server: str
    owner: str = ""
    epoch: int = 0
    lease_ms: int = 0
    backlog: int = 0
    delayed: int = 0
    in_flight: int = 0
    dead: int = 0
    workers: int = 0
    target: int = 0
    busy: int = 0
    oldest_s: float = 0.0
    ended: int = 0
    observed_ms: int = 0
    per_s: float | None = None
    manual_until_ms: int | None = None
    last_command: str = ""
    set_aside: int = 0
    unknown_tasks: tuple[str, ...] = ()
    held: int = 0
    held_tasks: tuple[str, ...] = ()
    capped: int = 0
    parked: int = 0
    untold: int = 0
    held_ms: int | None = None
    draining: int = 0
    eta: Eta | None = None
    service_s: float = 0.0
    problem: str = ""
    pool: str = DEFAULT_POOL

    @property
    def name(self) -> str:
        """Return the name of the partition, or of its pool: 3, or 3/video."""
        return place_text(self.partition, self.pool)

    @property
    def cause(self) -> str:
        """Return the problem without what it says to a caller who would repeat the call."""
        return self.problem.removesuffix(UnavailableError.UNCERTAIN).rstrip()

    @property
    def without_consumer(self) -> bool:
        """Return whether jobs wait for a pool that no consumer runs."""
        waiting = self.backlog + self.delayed + self.held + self.parked + self.in_flight
        return self.pool != DEFAULT_POOL and not self.owned and waiting > 0

    @property
    def unattended(self) -> bool:
        """Return whether an owner would have something to do now, and there is none."""
        claimable = self.backlog + self.capped + self.parked + self.in_flight + self.untold
        return not self.owned and has_work(claimable, self.oldest_s, self.held_ms)

    @property
    def owned(self) -> bool:
        """Return whether a consumer owns it now."""
        return bool(self.owner) and self.lease_ms > 0

    @property
    def pwqd(self) -> float:
        """Return the per-worker queue depth: backlog / max(workers, 1)."""
        return self.backlog / max(self.workers, 1)

    @property
    def part(self) -> Part:
        """Return what this partition adds to when all have ended."""
        left, workers = self.backlog + self.in_flight, max(self.target, self.workers)
        return part_of(self.eta, left, workers, self.service_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """All partitions at one moment. leader: empty when no coordinator leads.

    leader_known: false when its server did not answer, so that somebody may lead all the same.
    shadow: how a candidate compares with the policy, if one runs or did.
    """

    source: str
    leader: str
    leader_epoch: int
    rows: tuple[PartitionRow, ...]
    shadow: Mapping[str, Any] | None = None
    leader_known: bool = True

    @property
    def eta(self) -> Eta | None:
        """Return when the jobs that are there now have ended; None if unknown of a partition."""
        return last_of(row.part for row in self.rows)

    def total(self, name: str) -> Any:
        """Return the sum of a number over all partitions; unknown ones count as 0."""
        return sum(getattr(row, name) or 0 for row in self.rows)


def row_of(
    state: PartitionState,
    server: str,
    manual_until_ms: int | None = None,
    pool: str = DEFAULT_POOL,
) -> PartitionRow:
    """Return a row from an observation made directly on the server."""
    row = PartitionRow(
        partition=state.partition,
        server=server,
        backlog=state.backlog,
        delayed=state.delayed,
        in_flight=state.in_flight,
        dead=state.dead,
        oldest_s=state.oldest_ms / 1000,
        ended=sum(state.counters.get(name, 0) for name in _ENDED),
        observed_ms=state.observed_ms,
        manual_until_ms=manual_until_ms,
        last_command=state.last_command,
        set_aside=state.aside,
        unknown_tasks=state.aside_tasks,
        held=state.held,
        held_tasks=tuple(sorted(state.held_tasks)),
        capped=state.capped,
        parked=state.parked,
        untold=state.untold,
        held_ms=state.held_ms,
        draining=state.ending,
        pool=pool,
    )
    return row if state.owner is None else _owned_by(row, state.owner)


def _owned_by(row: PartitionRow, owner: Owner) -> PartitionRow:
    return replace(
        row,
        owner=owner.host,
        epoch=owner.epoch,
        lease_ms=owner.lease_ms,
        workers=owner.workers,
        target=owner.target,
        busy=owner.busy,
    )


def with_rates(
    rows: Iterable[PartitionRow], before: Mapping[str, PartitionRow]
) -> tuple[PartitionRow, ...]:
    """Return rows with executions per second since an earlier view, if there was one."""
    rated = []
    for row in rows:
        old = before.get(row.name)
        rate, pace = None, Pace()
        if (
            old is not None
            and not (row.problem or old.problem)
            and row.observed_ms > old.observed_ms
        ):
            seconds = (row.observed_ms - old.observed_ms) / 1000
            rate = max(0.0, (row.ended - old.ended) / seconds)
            busy = (min(row.in_flight, row.workers) + min(old.in_flight, old.workers)) / 2
            pace = pace.faded(1.0, row.ended - old.ended, busy * seconds)
        eta = None
        if rate is not None and (row.owned or not row.backlog + row.in_flight):
            eta = foretell(row.backlog + row.in_flight, max(row.target, row.workers), pace)
        rated.append(replace(row, per_s=rate, eta=eta, service_s=pace.service_s or 0.0))
    return tuple(rated)


def as_json(view: ClusterView) -> dict[str, Any]:
    """Return a view as plain data."""
    names = (
        "backlog",
        "held",
        "capped",
        "parked",
        "delayed",
        "in_flight",
        "dead",
        "workers",
        "target",
        "busy",
        "per_s",
    )
    return {
        "source": view.source,
        "leader": view.leader or None,
        "leader_epoch": view.leader_epoch,
        "eta": None if view.eta is None else asdict(view.eta),
        "shadow": None if view.shadow is None else dict(view.shadow),
        "totals": {name: _rounded(view.total(name)) for name in names},
        "partitions": [
            {k: _rounded(v) for k, v in asdict(row).items()}
            | {"pwqd": round(row.pwqd, 2), "owned": row.owned}
            for row in view.rows
        ],
    }


def _rounded(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else value


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Iterable[float], width: int, top: float = 0.0) -> str:
    """Draw the latest `width` values as bars from 0 to the maximum, or to `top` if higher."""
    shown = list(values)[-width:]
    largest = max([*shown, top], default=0.0)
    if largest <= 0:
        return _BARS[0] * len(shown)
    steps = len(_BARS) - 1
    return "".join(_BARS[round(max(v, 0.0) / largest * steps)] for v in shown)
