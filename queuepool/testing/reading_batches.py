"""Batches: what they are, which there are, and how their jobs ended, as the scripts tell it."""

from __future__ import annotations

from typing import Any

from queuepool.testing.batch import PAGE
from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.routed import routed


@routed(1)
def batch(p: PartitionData, args: Args) -> Any:
    """Return what a batch is."""
    b = p.batches.get(args[0])
    if b is None:
        return [p.now, [], [], b"0"]
    flat: list[bytes] = []
    for name in ("state", "why", "then", "how", "late", "called", "within", "part", "graph"):
        value = getattr(b, name)
        flat += [name.encode(), value] if value else []
    numbers = {"due": b.due, "keep": b.keep, "created": b.created, "ended": b.ended}
    numbers |= {"total": b.total, "sealed": int(bool(b.first)), **b.counts}
    for name, count in numbers.items():
        flat += [name.encode(), b"%d" % count] if count else []
    first = int(args[2]) if len(args) > 2 else 0
    left = first + 100 if len(args) > 2 and first + 100 < len(b.inner) else 0
    return [p.now, flat, b.inner[first : first + 100], b"%d" % left]


def batches(p: PartitionData, args: Args) -> Any:
    """List batches, those due first before the others."""
    first, count = int(args[0]), int(args[1])
    names = sorted(p.batches_due, key=lambda name: (p.batches_due[name], name))
    found: list[Any] = []
    for name in names[first : first + count]:
        b = p.batches[name]
        counts = (b.total, *b.counts.values(), b.due, b.created)
        found += [name, [b.state, b.called, *(b"%d" % n if n else b"" for n in counts), b.part]]
        found[-1].append(b"%d" % p.batches_due[name])
    return [len(names), found]


@routed(1)
def batch_results(p: PartitionData, args: Args) -> Any:
    """Return the outcome of jobs of a batch."""
    first, most = int(args[2]), int(args[3])
    b = p.batches.get(args[0])
    if b is None:
        return [b"", 0, first]
    if b.part == b"g":
        return [b.state, b.total, b.total, b"s", b.graph]
    found: list[bytes] = []
    number, size = first, 0
    jobs = b.jobs
    last = min(jobs, (first // PAGE + 1) * PAGE) - 1
    while number <= last and size <= most:
        kind, _, _, text = b.failed.get(number, (b"d", b"", b"", b.results.get(number, b"")))
        if number not in b.bits:
            kind, text = b"o", b""
        found += [kind, text]
        size, number = size + len(text), number + 1
    return [b.state, jobs, number, *found]
