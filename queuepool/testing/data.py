"""What happens to the groups and jobs of one partition in memory. Times are ms.

The verbs are in the modules beside this one, one function each, named after its script; what
several of them share is here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from queuepool.protocol import codec
from queuepool.testing.groups import TIERS, Group
from queuepool.testing.keyspace import Keyspace
from queuepool.testing.records import Lane
from queuepool.testing.tenants import is_bounded

STARTED = 1e12  # scores of in-flight jobs: below, a claim sequence; from here, the ms of a start
FIRST = 2.0**43  # less is the score of a job of tier 0 in the index of urgent ones
DAY_MS, MINUTE_MS = 86_400_000, 60_000
_FAR_AHEAD_MS = 3_600_000  # of a clock that was wrong


@dataclass(slots=True)
class PartitionData(Keyspace):
    """One partition, and what several verbs do to it."""

    # -- groups, memory of what ended --------------------------------------------------------------

    def find_group(self, name: bytes) -> Group | None:
        """Return a group that is still remembered, or None."""
        group = self.groups.get(name)
        if group is not None and group.expires is not None and self.now > group.expires:
            del self.groups[name]
            return None
        return group

    def group_of(self, body: bytes) -> Group:
        """Return the group of a body, recreated if it was forgotten."""
        name = codec.read_group(body)
        return self.find_group(name) or self.groups.setdefault(name, Group())

    def leave_group(self, group: Group, by: int = 1) -> None:
        """Count jobs of a group as ended; without any left, it has finished."""
        group.left -= by
        if group.left <= 0:
            group.finished = self.now
            self.expire_group(group)
        for name in [n for n in self.managed if self.groups.get(n) is group]:
            self.tune(name)

    def count_ready(self, lane: Lane, by: int) -> None:
        """Count jobs of a lane; those of a managed group it is `tune` that counts as ready."""
        if lane[1] in self.managed:
            self.groups[lane[1]].waiting[lane[0]] += by
        else:
            self.count_able(lane, by)

    def count_able(self, lane: Lane, by: int) -> None:
        """Count jobs that may be claimed; those of a bounded tenant `tune_tenants` counts."""
        if not is_bounded(self, lane[1]):
            self.count(f"r{lane[0]}", by)

    def tune(self, name: bytes, *, owning: bool = False) -> int:
        """Count what may be claimed of a managed group now; return how many jobs that are.

        Lanes that are out have seats again when something may. owning: nobody need be told.
        """
        group = self.groups.get(name)
        if group is None or name not in self.managed:
            return 0
        able, apart = group.shares(self.waits)
        self.count(group.state, -group.apart)
        group.state, group.apart = "held" if group.is_held else "capped", apart
        self.count(group.state, apart)
        for tier in TIERS:
            self.count_able((group.place(tier), name), able[tier] - group.able[tier])
        group.able = able
        self.managed[name] = group.room(self.waits)
        if group.left <= 0:
            del self.managed[name]
        if group.left <= 0 or group.room(self.waits) > 0:
            for tier in sorted(group.out):
                self.give_seat((tier, name))
                if not owning:
                    self.wake(b"w")
            group.out.clear()
        return able.total()

    def waits(self, job_id: bytes | None) -> bool:
        """Return whether a job is delayed or parked: others of a serial group wait for it."""
        return job_id is not None and (job_id in self.delayed or self.gates.is_parked(job_id))

    def expire_group(self, group: Group) -> None:
        """Forget a group without work or dead jobs: after a minute per job, at most a day.

        One that changed its tier after a day, by which its older seats are gone.
        """
        if group.left <= 0 and group.dead <= 0:
            minutes = 1440 if group.moved and group.total > 0 else max(group.total, 1)
            kept = min(DAY_MS, MINUTE_MS * minutes)
            group.expires = self.now + max(kept, group.keep)

    def remember(self, member: bytes) -> None:
        """Remember that a job ended, for one to two minutes."""
        self.ended.turn(self.now)
        self.ended.sets[self.ended.in_use].add(member)

    def result(self, job_id: bytes) -> bytes | None:
        """Return a stored result if it has not expired."""
        value, expires = self.results.get(job_id, (b"", -1))
        return value if self.now <= expires else None

    def is_closed(self, body: bytes) -> bool:
        """Return whether a job is being copied, so that it is to stay as it is."""
        group = self.find_group(codec.read_group(body))
        return group is not None and group.closed

    # -- where jobs are ----------------------------------------------------------------------------

    def place(
        self, job_id: bytes, lane: Lane, *, front: bool = False, next_turn: bool = False
    ) -> None:
        """Put a job into its lane; a previously empty lane gets a seat in its ring."""
        waiting = self.lanes.setdefault(lane, deque())
        (waiting.appendleft if front else waiting.append)(job_id)
        if len(waiting) == 1:
            self.give_seat(lane, next_turn=next_turn)
        self.count_ready(lane, 1)

    def give_seat(self, lane: Lane, *, next_turn: bool = False) -> None:
        """Give a lane its seat, where the tier of its group says."""
        group = self.groups.get(lane[1]) or Group()
        since = max(self.now, group.moved)
        self.seats.give(lane, since, group.place(lane[0]), next_turn=next_turn)

    def park(self, gate: bytes, job_id: bytes, *, back: bool = False) -> None:
        """Make a ready job wait at its gate."""
        (tier, name), group = lane_of(self.jobs[job_id]), self.group_of(self.jobs[job_id])
        self.count("parked")
        group.parked += 1
        if self.gates.put(gate, (tier, name), job_id, group.place(tier), back=back):
            self.wake(b"g")

    def unpark(self, body: bytes) -> None:
        """Note that a job is parked no more."""
        self.count("parked", -1)
        self.group_of(body).parked -= 1

    def mark(self, job_id: bytes, body: bytes) -> None:
        """Leave the id of a job that ends where it waits, as a mark, until its turn."""
        self.marks.add(job_id)
        if self.gates.is_parked(job_id):
            self.unpark(body)
        else:
            self.count_ready(lane_of(body), -1)

    def forget(self, job_id: bytes) -> None:
        """Remove a job's body and all its records."""
        self.jobs.pop(job_id, None)
        self.wishes.let_go(job_id)
        self.gates.leave_lane(job_id)
        self.gates.limits.pop(job_id, None)
        for notes in (self.attempts, self.crashes, self.errors, self.progress, self.cancels):
            notes.pop(job_id, None)

    def holder_of(self, unique_key: bytes) -> bytes | None:
        """Return the job that holds a unique key; a dead one holds none."""
        return self.wishes.holder_of(unique_key, self.jobs, self.dead)

    def delay(self, job_id: bytes, tier: int, due: float) -> None:
        """Make a job due at a time; the index of urgent ones has those of tier 0 first."""
        self.delayed.add(job_id, due)
        if tier < 2:
            self.urgent.add(job_id, due if tier else due - FIRST)

    def move_due(self, job_id: bytes, due: float) -> None:
        """Make a delayed job due at another time, also in the index of urgent ones."""
        place = self.urgent.score(job_id)
        self.delayed.add(job_id, due)
        if place is not None:
            self.urgent.add(job_id, due - FIRST if place < 0 else due)

    def leave_delayed(self, job_id: bytes, body: bytes) -> bool:
        """Take a job from the delayed ones before it is due; return whether it was there."""
        if not self.delayed.remove(job_id):
            return False
        self.urgent.remove(job_id)
        self.unaside(job_id)
        self.group_of(body).delayed -= 1
        return True

    def unaside(self, job_id: bytes) -> None:
        """Record that a job is no longer delayed, and waits for no task."""
        if self.asides.pop(job_id, None) is not None:
            self.errors.pop(job_id, None)

    def end_cancelled(self, job_id: bytes, body: bytes, group: Group | None = None) -> None:
        """End a job, already taken from where it was, as cancelled. Group: that of its lane."""
        self.tell(job_id, b"c")
        self.forget(job_id)
        self.remember(b"!" + job_id)
        self.count("cancelled")
        self.tallies.note(codec.read_group(body), "cancelled", self.now)
        self.count("bytes", -len(body))
        group = group or self.group_of(body)
        group.cancelled += 1
        self.leave_group(group)

    def end_expired(self, job_id: bytes, body: bytes) -> None:
        """End a job, already taken from its lane, that was to start sooner."""
        self.tell(job_id, b"e")
        self.forget(job_id)
        self.remember(b"!" + job_id)
        self.remember(b"~" + job_id)
        self.count("expired")
        self.tallies.note(codec.read_group(body), "expired", self.now)
        self.count("bytes", -len(body))
        group = self.group_of(body)
        group.expired += 1
        self.leave_group(group)

    def is_cancelled(self, job_id: bytes, body: bytes) -> bool:
        """Return whether cancellation of a job was requested, alone or with its group."""
        group = self.find_group(codec.read_group(body))
        cut = group.cancelled_at if group else -1
        return job_id in self.cancels or codec.read_enqueued_ms(body) <= cut

    def other_stamp(self, stamp: int) -> int:
        """Return one that no cancellation of a group before has reached, and the next one will."""
        cut = self.counters.get("cut", 0)
        if stamp - 1 > cut:
            return stamp - 1
        self.counters["cut"] = max(cut, stamp)
        return stamp + 1

    @property
    def fresh_stamp(self) -> int:
        """Return the stamp of a job that is enqueued now."""
        return max(self.now, self.counters.get("cut", 0) + 1)

    def later_stamp(self, stamp: int) -> int:
        """Return a later one, that the next cancellation of a group will reach."""
        if stamp > self.fresh_stamp + _FAR_AHEAD_MS:
            return self.fresh_stamp
        cut = self.counters.get("cut", 0)
        if stamp >= self.now and stamp > cut:
            self.counters["cut"] = stamp
        return stamp + 1

    def tell(self, job_id: bytes, end: bytes, text: bytes = b"") -> None:
        """Note for the owner the outcome of a job, if it is of a batch."""
        if b"~" not in job_id:
            return
        body = self.jobs.get(job_id, b"")
        stamp = codec.read_stamp(body) if len(body) >= 13 else b"0" * 11
        self.relay(job_id, end + stamp + text)

    def relay(self, job_id: bytes, text: bytes) -> None:
        """Note something that the owner is to tell the batch that an id names."""
        self.told += 1
        self.untold[b"%d-%d" % (self.now, self.told)] = (job_id, text)
        if len(self.untold) == 1:
            self.wake(b"f")


def lane_of(body: bytes) -> Lane:
    """Return the lane of a body; even a damaged one has a lane, so that it can be buried."""
    tier = body[1] - 0x30 if len(body) > 1 else -1
    return tier if tier in TIERS else 2, codec.read_group(body)
