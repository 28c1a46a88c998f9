"""A coordinator that has something to decide about each of many partitions, and keeps all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from time import monotonic, sleep

from benchmarks.owners import report, take_over
from benchmarks.rig import Rig, rig
from benchmarks.scale.processes import coordinating, cycles, lost_decisions
from benchmarks.scale.rows import Row
from coordinator.core.overlays.shadowing import candidate_text
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.leader import verbs as lead

_SHADOW = "pwqd"
_FIRST_S, _S = 6.0, 20.0
_TIMES = 50  # a second, at which some of the consumers report


def deciding(scale: float) -> Iterator[Row]:
    """Measure a cycle that sizes every partition, keeps each decision, and runs a shadow."""
    count = max(10, int(1_000 * scale))
    with rig(count) as r:
        owners = [take_over(partition) for partition in r.pool.partitions()]
        rows = ({"i": i} for i in range(10 * count))
        r.pool.enqueue_many("noop", rows, partition_key=lambda row: f"g{row['i']}")
        _begin_shadow(r)
        with coordinating(r.server.url, count) as (seen, url):
            before = _after(url, _FIRST_S, owners)
            now = _after(url, _S, owners)
            private_mb = seen.private_mb()
            seen.says(f"shadow: {_SHADOW} .*runs beside")
            lost = lost_decisions(seen.text())
    did = now[0] - before[0]
    what = f"of {count:,} partitions with `sized`, all decisions kept, and a shadow"
    yield Row(f"a cycle {what}", (now[1] - before[1]) / did * 1000, 120, "ms")
    yield Row(f"memory of its own of a coordinator {what}", private_mb, 150, "MB")
    yield Row(f"decisions lost {what}", lost, 0, "")


def _begin_shadow(r: Rig) -> None:
    text = candidate_text(_SHADOW, {}, datetime.now(UTC), 3600.0)
    verb = lead.set_policy(0, "bench", {"shadow": text}, by="benchmark", reason="")
    server, key = r.pool.system
    if not verb.read(server.run(key, [verb])[0])[0]:
        raise RuntimeError("a fresh queue has a scaling record")


def _after(url: str, seconds: float, owners: Sequence[OwnedPartition]) -> tuple[float, float]:
    """Let consumers report once a second; return the cycles until then, and their seconds.

    Each has its own time to do so: if all did at once, either no cycle or every one would meet
    them, as both come once a second.
    """
    began = monotonic()
    for n in range(int(seconds * _TIMES)):
        sleep(max(0.0, began + n / _TIMES - monotonic()))
        report(owners[n % _TIMES :: _TIMES])
    return cycles(url)
