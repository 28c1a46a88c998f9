"""What the server pays for a job, against the depth of the queue, its groups, its partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from time import monotonic
from typing import Any

from benchmarks.rig import PAD, payloads, rig
from coordinator.assembly import assemble
from coordinator.settings import CoordinatorSettings
from queuepool.codec import read_group
from queuepool.partition import OwnedPartition
from queuepool.verbs import Verb, own

_WEIGHTS = (6, 3, 2, 1)
_BATCH, _SAMPLE = 100, 20_000  # jobs a claim, and jobs that are claimed for one figure


def depth(jobs: int) -> dict[str, float]:
    """Claim and finish while 1,000 to `jobs` jobs wait in one group; as many come as go."""
    figures: dict[str, float] = {}
    for size in _sizes(1000, jobs):
        figures |= _costs(size, groups=1, label=f"depth={size}", refill=True)
    return figures | _growth(figures, "depth")


def groups(jobs: int) -> dict[str, float]:
    """Claim and finish while `jobs` jobs wait in one group, up to a group for every ten."""
    figures: dict[str, float] = {}
    for count in _sizes(1, jobs // 10):
        figures |= _costs(jobs, groups=count, label=f"groups={count}")
    return figures | _growth(figures, "groups")


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


def _growth(figures: dict[str, float], by: str) -> dict[str, float]:
    """Return how much dearer the largest size is than the smallest."""
    growth = {}
    for verb in ("claim", "finish"):
        for part in ("", "_commands", "_lua"):
            costs = [v for name, v in figures.items() if name.startswith(f"{verb}{part}_us[")]
            growth[f"{verb}{part}_us_growth_by_{by}"] = costs[-1] / costs[0]
    return growth


def _costs(jobs: int, *, groups: int, label: str, refill: bool = False) -> dict[str, float]:
    """Return server microseconds a job of claim and finish, in batches of 100.

    refill: enqueue a batch before each claim, so that `jobs` wait all the time.
    """
    each = jobs // groups

    def key(row: Mapping[str, Any]) -> str:
        return f"g{int(row['i']) // each}"

    with rig() as r:
        r.pool.enqueue_many("noop", ({"i": i, "pad": PAD} for i in range(jobs)), partition_key=key)
        owned = r.pool.partition(0).acquire(lease_s=600)
        if not isinstance(owned, OwnedPartition):
            raise RuntimeError("a fresh partition has an owner")
        r.reset_stats()
        sample = _SAMPLE if refill else min(_SAMPLE, jobs)
        spent = {"claim": Counter[str](), "finish": Counter[str]()}
        for _ in range(0, sample, _BATCH):
            if refill:
                r.pool.enqueue_many("noop", payloads(_BATCH), partition_key="g0")
            at = [r.spent_us()]
            claims = owned.run(_claim(owned))
            at.append(r.spent_us())
            owned.run(own.finish(owned.life, _acks(claims)))
            at.append(r.spent_us())
            for verb, (before, after) in zip(spent, pairwise(at), strict=True):
                spent[verb] += _difference(before, after)
        slow = r.info("latencystats")["latency_percentiles_usec_evalsha"]
    figures = {
        f"{verb}{part}_us[{label}]": us / sample
        for verb, parts in spent.items()
        for part, us in parts.items()
    }
    return figures | {f"script_p99_9_us[{label}]": float(slow["p99.9"])}


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
