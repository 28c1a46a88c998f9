"""The processes of the model test, whose memory does not go back when a server does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from queuepool.errors import FencedError
from queuepool.models.tenants import tenant_of
from queuepool.partitions.partition import Partition
from queuepool.protocol.codec import read_stamp
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.property.model.enqueueing import Run
from tests.property.model.names import group_of, size_of, tail_of

FENCED = "fenced"


@dataclass
class Life:
    """One ownership as its process knows it: jobs that it claimed, finished or not."""

    ownership: own.Ownership
    beat: int = 0
    bodies: dict[bytes, bytes] = field(default_factory=dict)

    def pick(self, picks: Sequence[int]) -> list[bytes]:
        """Return claimed ids by number, the newest first; the same number twice is the same id."""
        ids = list(reversed(self.bodies))
        return [ids[n % len(ids)] for n in picks] if ids else []

    def stamp(self, job_id: bytes) -> bytes:
        """Return the stamp of the body that it claimed; b"" for an id that it never had."""
        return read_stamp(self.bodies.get(job_id, b""))


def enqueue_verb(runs: Sequence[Run], *, max_depth: int) -> Verb[produce.Settled | produce.Full]:
    """Return the call that enqueues these runs."""
    args: list[Any] = []
    wishes: list[Any] = []
    jobs = ((run, job_id) for run in runs for job_id in run.ids)
    for place, (run, job_id) in enumerate(jobs, start=1):
        key = run.keys.get(job_id, b"")
        gate = run.gates.get(job_id, b"")
        if key or run.expires_s or gate:
            until = key[:1] + run.mode if key else b""
            wishes += (place, until, key[1:], run.expires_s * 1000, gate)
    for run in runs:
        tier = run.tier + 4 * (tenant_of(run.group) is not None)
        args += [tier, run.group, run.delay_s * 1000, len(run.ids)]
        for job_id in run.ids:
            args += [job_id, tail_of(job_id)]
    return produce.enqueue(
        args,
        wishes,
        jobs=sum(len(run.ids) for run in runs),
        size_bytes=sum(size_of(i) for run in runs for i in run.ids),
        max_depth=max_depth,
        max_bytes=2**40,
    )


def finish_verb(life: Life, ids: Sequence[bytes]) -> Verb[own.Finished]:
    """Return the call that finishes these, laid out by group as a consumer does."""
    acks: dict[bytes, own.Acks] = {}
    for job_id in ids:
        ack = acks.setdefault(group_of(job_id), own.Acks())
        ack.size_bytes += len(life.bodies.get(job_id, b"")) or size_of(job_id)
        ack.ids.append(job_id)
        if sum(job_id) % 3 == 0:
            ack.results.append((job_id, 60_000, b"1"))
    return own.finish(life.ownership, acks)


def call(partition: Partition, verb: Verb[Any]) -> Any:
    """Return the reply of a verb, or that it was refused to a life that is over."""
    try:
        return partition.run(verb)
    except FencedError:
        return FENCED
