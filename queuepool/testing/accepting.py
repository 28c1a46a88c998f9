"""Which jobs of an enqueue call are stored, and what that does to those that are there."""

from __future__ import annotations

from dataclasses import dataclass, field

from queuepool.protocol import codec
from queuepool.testing.data import PartitionData, lane_of
from queuepool.testing.keyspace import Args


@dataclass(slots=True)
class Accept:
    """Stores the jobs of a call. status: one byte a job; by: who kept jobs out, in order.

    grown: how many bytes more the bodies have.
    """

    p: PartitionData
    wishes: dict[int, Args]
    status: bytearray = field(default_factory=bytearray)
    by: list[bytes] = field(default_factory=list)
    grown: int = 0
    sooner: bool = False
    gates: dict[bytes, bytes] = field(default_factory=dict)  # of new jobs that name limits

    def jobs(self, pairs: Args, head: bytes, group: bytes, delay: int) -> list[bytes]:
        """Store the jobs of one run; return the ids that are new."""
        fresh: list[bytes] = []
        for job_id, tail in zip(pairs[::2], pairs[1::2], strict=True):
            wish = self.wishes.get(len(self.status) + 1, (b"", b"", b"0", b""))
            until, key, ms, gate = wish
            if job_id in self.p.jobs or _seen(self.p, job_id):
                self.status += b"0"
            elif until[:1] and (holder := self.p.holder_of(key)) is not None:
                body = head + tail, group, delay
                replaced = until[1:] and self._replace(holder, until[1:], wish, *body)
                self.status += b"3" if replaced else b"2"
                self.by.append(holder)
            else:
                self.status += b"1"
                self.p.jobs[job_id] = head + tail
                fresh.append(job_id)
                self.grown += len(head) + len(tail)
                if until:
                    self.p.wishes.take(until[:1] + key, job_id)
                if gate:
                    self.gates[job_id] = gate
                if int(ms) > 0:
                    self.p.wishes.expire_ms[job_id] = self.p.now + int(ms)
        return fresh

    def _replace(
        self, job_id: bytes, mode: bytes, wish: Args, body: bytes, group: bytes, delay: int
    ) -> bool:
        # Gives a waiting job another body; its id, tier, place and limits stay.
        p, old, ms = self.p, self.p.jobs[job_id], int(wish[2])
        if any(job_id in p.book(epoch) for epoch in p.epochs()):
            return old[13:] == body[13:]
        gate = self.gates.get(job_id) or p.gates.limits.get(job_id, (b"", b""))[1]
        if codec.read_group(old) != group or gate != wish[3]:
            return False
        stamp = int(body[2:13], 16)
        if old[2:13] == body[2:13]:
            stamp = p.other_stamp(stamp)
        p.jobs[job_id] = old[:2] + b"%011x" % stamp + body[13:]
        self.grown += len(body) - len(old)
        p.wishes.expire_ms.pop(job_id, None)
        if ms > 0:
            p.wishes.expire_ms[job_id] = p.now + ms
        if mode == b"d" and job_id in p.delayed:
            p.delay(job_id, lane_of(old)[0], p.now + delay)
            self.sooner = self.sooner or not p.delayed.below(p.now + delay)
        return True


def _seen(p: PartitionData, job_id: bytes) -> bool:
    ended = (p.ended.remembers(member, p.now) for member in (job_id, b"!" + job_id))
    return job_id in p.marks or any(ended)
