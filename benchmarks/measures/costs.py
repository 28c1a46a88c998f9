"""What the server pays for a job, against the depth of the queue, its groups, its partitions.

Every size is measured alone. For the growth, the smallest and the largest take turns, batch by
batch, each with a server of its own: a machine whose speed changes changes both alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic
from typing import Any

from benchmarks.owners import report, take_over
from benchmarks.rig import PAD, Rig, payloads, rig
from coordinator.assembly import assemble
from coordinator.settings import CoordinatorSettings
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol.codec import read_group
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own

_WEIGHTS = (6, 3, 2, 1)
_BATCH = 100  # jobs a claim
_ALONE, _IN_TURNS = 100_000, 20_000  # jobs that are claimed for one figure

_COUNTING = "for _ = 1, tonumber(ARGV[1]) do end"

# Microseconds of the server: "claim", and of that "claim_commands" and "claim_lua"; so of "finish".
_Spent = Counter[str]


def depth(jobs: int) -> dict[str, float]:
    """Claim and finish while 1,000 to `jobs` jobs wait in one group; as many come as go."""
    sizes = _sizes(min(1000, jobs // 10), jobs)
    return _costs_by("depth", {size: _Load(size, groups=1, refill=True) for size in sizes})


def groups(jobs: int) -> dict[str, float]:
    """Claim and finish while `jobs` jobs wait in one group, up to a group for every ten."""
    counts = _sizes(1, jobs // 10)
    return _costs_by("groups", {count: _Load(jobs, groups=count) for count in counts})


def partitions(count: int) -> dict[str, float]:
    """One cycle of a leading coordinator that observes 1 to `count` owned, loaded partitions."""
    figures: dict[str, float] = {}
    for n in _sizes(1, count):
        with rig(n) as r:
            owners = [take_over(partition) for partition in r.pool.partitions()]
            rows = ({"i": i} for i in range(10 * n))
            r.pool.enqueue_many("noop", rows, partition_key=lambda row: f"g{row['i']}")
            settings = CoordinatorSettings(grpc_port=0, metrics_port=-1)
            coordinator = assemble(r.pool, settings)
            for _ in range(2):  # takes the lead, connects, and looks for the first time
                report(owners)
                coordinator.loop.turn()
            took = []
            for _ in range(7):
                report(owners)
                began = monotonic()
                coordinator.loop.turn()
                took.append((monotonic() - began) * 1000)
            coordinator.stop()
            figures[f"cycle_ms[partitions={n}]"] = sorted(took)[3]
    return figures


def _sizes(first: int, last: int) -> list[int]:
    """Return first, 10 * first, ... up to last."""
    sizes = [min(first, last)]
    while sizes[-1] * 10 <= last:
        sizes.append(sizes[-1] * 10)
    return sizes


@dataclass(frozen=True, slots=True)
class _Load:
    """A queue of some size. refill: a batch is enqueued before each claim, so that `jobs` wait."""

    jobs: int
    groups: int
    refill: bool = False

    @contextmanager
    def queued(self) -> Iterator[tuple[Rig, OwnedPartition]]:
        """Yield a server on which the jobs wait, and its partition, owned."""
        each = self.jobs // self.groups

        def key(row: Mapping[str, Any]) -> str:
            return f"g{int(row['i']) // each}"

        with rig() as r:
            rows = ({"i": i, "pad": PAD} for i in range(self.jobs))
            r.pool.enqueue_many("noop", rows, partition_key=key)
            taken = take_over(r.pool.partition(0))
            r.reset_stats()
            yield r, taken

    def turn(self, r: Rig, owned: OwnedPartition) -> _Spent:
        """Claim and finish one batch; return what the server spent on it."""
        if self.refill:
            r.pool.enqueue_many("noop", payloads(_BATCH), partition_key="g0")
        at = [r.spent_us()]
        claims = owned.run(_claim(owned))
        at.append(r.spent_us())
        owned.run(own.finish(owned.ownership, _acks(claims)))
        at.append(r.spent_us())
        return Counter(
            {
                verb + part: us
                for verb, (before, after) in zip(("claim", "finish"), pairwise(at), strict=True)
                for part, us in _difference(before, after).items()
            }
        )


def _costs_by(name: str, loads: Mapping[int, _Load]) -> dict[str, float]:
    """Return server microseconds a job of claim and finish, by size, and how much they grow."""
    figures: dict[str, float] = {}
    for size, load in loads.items():
        with load.queued() as (r, owned):
            spent, jobs = _spent([(load, r, owned)], _ALONE)
            label = f"us[{name}={size}]"
            figures |= {f"{part}_{label}": us / jobs for part, us in spent[0].items()}
            figures[f"script_p99_9_{label}"] = r.slow_script_us()
            calls = jobs // _BATCH
            figures[f"counting_p99_9_{label}"] = _counting_us(r, spent[0]["claim"] / calls, calls)
    smallest, *_, largest = loads.values()
    with smallest.queued() as few, largest.queued() as many:
        (low, high), _ = _spent([(smallest, *few), (largest, *many)], _IN_TURNS)
    return figures | {f"{part}_us_growth_by_{name}": high[part] / low[part] for part in low}


def _counting_us(r: Rig, as_long_as_us: float, calls: int) -> float:
    """Return the p99.9 of a script that only counts, and takes as long: what the machine adds."""
    count = r.client.register_script(_COUNTING)
    r.reset_stats()
    for _ in range(100):
        count(args=[10_000])
    steps = int(as_long_as_us / (r.script_us() / 100) * 10_000)
    r.reset_stats()
    for _ in range(calls):
        count(args=[steps])
    return r.slow_script_us()


def _spent(
    queues: list[tuple[_Load, Rig, OwnedPartition]], sample: int
) -> tuple[list[_Spent], int]:
    """Return what servers spent that take turns, and on how many jobs of each."""
    spent: list[_Spent] = [Counter() for _ in queues]
    jobs = min([sample, *(load.jobs for load, _, _ in queues if not load.refill)])
    for _ in range(0, jobs, _BATCH):
        for sums, (load, r, owned) in zip(spent, queues, strict=True):
            sums.update(load.turn(r, owned))
    return spent, jobs


def _difference(
    before: tuple[float, Mapping[str, float]], after: tuple[float, Mapping[str, float]]
) -> dict[str, float]:
    """Return microseconds spent in between: altogether, in commands of scripts, in the rest."""
    scripts = after[0] - before[0]
    commands = sum(after[1].values()) - sum(before[1].values())
    return {"": scripts, "_commands": commands, "_lua": scripts - commands}


def _claim(owned: OwnedPartition) -> Verb[own.Claims]:
    return own.claim(owned.ownership, _BATCH, starting=8, promote_after_ms=0, weights=_WEIGHTS)


def _acks(claims: own.Claims) -> dict[bytes, own.Acks]:
    acks: dict[bytes, own.Acks] = {}
    for job_id, body in zip(claims.ids, claims.bodies, strict=True):
        group = acks.setdefault(read_group(body), own.Acks(0, [], []))
        group.size_bytes += len(body)
        group.ids.append(job_id)
    return acks
