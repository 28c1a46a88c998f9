"""What the server pays for a job, against the depth of the queue, its groups, its partitions.

Every size has a server of its own, and they take turns, batch by batch: a machine whose speed
changes changes them all alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from time import monotonic
from typing import Any

from benchmarks.rig import PAD, Rig, payloads, rig
from coordinator.assembly import assemble
from coordinator.settings import CoordinatorSettings
from queuepool.codec import read_group
from queuepool.partition import OwnedPartition
from queuepool.verbs import Verb, own

_WEIGHTS = (6, 3, 2, 1)
_BATCH, _SAMPLE = 100, 20_000  # jobs a claim, and jobs that are claimed for one figure


def depth(jobs: int) -> dict[str, float]:
    """Claim and finish while 1,000 to `jobs` jobs wait in one group; as many come as go."""
    sizes = _sizes(1000, jobs)
    loads = [_Load(f"depth={size}", jobs=size, groups=1, refill=True) for size in sizes]
    return _costs(loads, _SAMPLE) | _growth(loads, "depth")


def groups(jobs: int) -> dict[str, float]:
    """Claim and finish while `jobs` jobs wait in one group, up to a group for every ten."""
    counts = _sizes(1, jobs // 10)
    loads = [_Load(f"groups={count}", jobs=jobs, groups=count) for count in counts]
    return _costs(loads, min(_SAMPLE, jobs)) | _growth(loads, "groups")


def partitions(count: int) -> dict[str, float]:
    """One cycle of a leading coordinator that observes 1 to `count` owned, loaded partitions."""
    figures: dict[str, float] = {}
    for n in _sizes(1, count):
        with rig(n) as r:
            for partition in r.pool.partitions():
                partition.acquire(lease_s=600)
            settings = CoordinatorSettings(grpc_port=0, metrics_port=-1)
            coordinator = assemble(r.pool, settings)
            coordinator.loop.turn()  # takes the lead and connects
            took = []
            for _ in range(7):
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


@dataclass(slots=True)
class _Load:
    """A queue of some size. refill: a batch is enqueued before each claim, so that `jobs` wait.

    spent: verb -> microseconds of the server: altogether, in commands of scripts, in the rest.
    """

    label: str
    jobs: int
    groups: int
    refill: bool = False
    spent: dict[str, Counter[str]] = field(
        default_factory=lambda: {"claim": Counter(), "finish": Counter()}
    )

    @contextmanager
    def queued(self) -> Iterator[tuple[Rig, OwnedPartition]]:
        """Yield a server on which the jobs wait, and its partition, owned."""
        each = self.jobs // self.groups

        def key(row: Mapping[str, Any]) -> str:
            return f"g{int(row['i']) // each}"

        with rig() as r:
            rows = ({"i": i, "pad": PAD} for i in range(self.jobs))
            r.pool.enqueue_many("noop", rows, partition_key=key)
            owned = r.pool.partition(0).acquire(lease_s=600)
            if not isinstance(owned, OwnedPartition):
                raise RuntimeError("a fresh partition has an owner")
            r.reset_stats()
            yield r, owned

    def turn(self, r: Rig, owned: OwnedPartition) -> None:
        """Claim and finish one batch, and add up what the server spent on it."""
        if self.refill:
            r.pool.enqueue_many("noop", payloads(_BATCH), partition_key="g0")
        at = [r.spent_us()]
        claims = owned.run(_claim(owned))
        at.append(r.spent_us())
        owned.run(own.finish(owned.life, _acks(claims)))
        at.append(r.spent_us())
        for spent, (before, after) in zip(self.spent.values(), pairwise(at), strict=True):
            spent.update(_difference(before, after))


def _costs(loads: list[_Load], sample: int) -> dict[str, float]:
    """Return server microseconds a job of claim and finish, over `sample` jobs of each load."""
    figures = {}
    with ExitStack() as ending:
        queues = [(load, *ending.enter_context(load.queued())) for load in loads]
        for _ in range(0, sample, _BATCH):
            for load, r, owned in queues:
                load.turn(r, owned)
        for load, r, _ in queues:
            for verb, parts in load.spent.items():
                for part, us in parts.items():
                    figures[f"{verb}{part}_us[{load.label}]"] = us / sample
            slow = r.info("latencystats")["latency_percentiles_usec_evalsha"]
            figures[f"script_p99_9_us[{load.label}]"] = float(slow["p99.9"])
    return figures


def _growth(loads: list[_Load], by: str) -> dict[str, float]:
    """Return how much dearer the largest size is than the smallest."""
    small, large = loads[0].spent, loads[-1].spent
    return {
        f"{verb}{part}_us_growth_by_{by}": us / small[verb][part]
        for verb in large
        for part, us in large[verb].items()
    }


def _difference(
    before: tuple[float, Mapping[str, float]], after: tuple[float, Mapping[str, float]]
) -> Counter[str]:
    """Return microseconds spent in between: altogether, in commands of scripts, in the rest."""
    scripts = after[0] - before[0]
    commands = sum(after[1].values()) - sum(before[1].values())
    return Counter({"": scripts, "_commands": commands, "_lua": scripts - commands})


def _claim(owned: OwnedPartition) -> Verb[own.Claims]:
    return own.claim(owned.life, _BATCH, starting=8, promote_after_ms=0, weights=_WEIGHTS)


def _acks(claims: own.Claims) -> dict[bytes, own.Acks]:
    acks: dict[bytes, own.Acks] = {}
    for job_id, body in zip(claims.ids, claims.bodies, strict=True):
        group = acks.setdefault(read_group(body), own.Acks(0, [], []))
        group.size_bytes += len(body)
        group.ids.append(job_id)
    return acks
