"""What a partition should hold, in plain dicts: jobs, where each is, groups, counters, owners."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from queuepool.models.tenants import tenant_of
from tests.property.model import batching
from tests.property.model.records import (
    MINUTE_S,
    Book,
    Bounds,
    Closings,
    Ends,
    Job,
    Owner,
    Place,
    Totals,
)

DAY_S = 86_400
Waiting = tuple[bytes, int, bytes]  # a lane at a gate: gate, tier, group


@dataclass
class State:
    """Everything a partition holds, and what has ended in this line of events.

    A failover puts an older copy of this back, ends included: hence a job ends once in one line
    of events, and may end again in the line that a failover began.
    """

    now_s: float = 0.0
    call: int = 0
    births: int = 0
    jobs: dict[bytes, Job] = field(default_factory=dict)
    lanes: dict[tuple[int, bytes], list[bytes]] = field(default_factory=dict)
    gates: dict[Waiting, list[bytes]] = field(default_factory=dict)
    books: dict[int, Book] = field(default_factory=dict)
    marks: set[bytes] = field(default_factory=set)
    holders: dict[bytes, bytes] = field(default_factory=dict)  # unique key -> job
    groups: dict[bytes, Totals] = field(default_factory=dict)
    tenants: dict[bytes, Bounds] = field(default_factory=dict)
    counters: Counter[str] = field(default_factory=Counter)
    ends: Ends = field(default_factory=Ends)
    ended: dict[int, str] = field(default_factory=dict)
    owner: Owner | None = None
    draining: dict[int, tuple[str, float]] = field(default_factory=dict)
    to_recover: list[int] = field(default_factory=list)
    commands: list[tuple[int, int]] = field(default_factory=list)
    checkpoint: tuple[int, int] | None = None  # target, leader
    held: bool = False  # the whole partition
    tasks: dict[str, str] = field(default_factory=dict)  # held, or how far released
    batches: dict[bytes, batching.Batch] = field(default_factory=dict)
    told: list[batching.Told] = field(default_factory=list)  # what batches are to hear, in order
    route: int = 1  # the least version that is accepted
    shut: bool = False  # slots move
    closings: Closings | None = None  # of slots, while they move and that is known
    configured: set[bytes] = field(default_factory=set)  # groups, while slots move
    frozen: set[bytes] = field(default_factory=set)  # groups
    came: int = 0  # jobs that came by moves, less those that left

    def at(self, place: Place) -> list[bytes]:
        """Return the ids at a place."""
        return [i for i, job in self.jobs.items() if job.place is place]

    def ready(self, tier: int | None = None) -> int:
        """Return how many jobs are ready, of each group and tenant no more than it may run."""
        tiers = range(4) if tier is None else (tier,)
        plain = [self.able_there(group) for group in self.groups if tenant_of(group) is None]
        return sum(able[t] for able in [*plain, *map(self.able_of, self.names())] for t in tiers)

    def names(self) -> set[bytes]:
        """Return the tenants that have groups."""
        return {tenant for group in self.groups if (tenant := tenant_of(group)) is not None}

    def let(self, tenant: bytes) -> list[int]:
        """Return how many ready jobs of a tenant its groups let run, by tier."""
        ables = [self.able_there(group) for group in self.groups if tenant_of(group) == tenant]
        return [sum(able[t] for able in ables) for t in range(4)]

    def able_of(self, tenant: bytes) -> list[int]:
        """Return how many ready jobs of a tenant may be claimed, by tier: of high ones first."""
        left, able = self.room_of(tenant), []
        for jobs in self.let(tenant):
            able.append(min(left, jobs))
            left -= able[-1]
        return able

    def room_of(self, tenant: bytes) -> int:
        """Return how many jobs of a tenant may be claimed now."""
        bounds, books = self.tenants.get(tenant, Bounds()), self.books.values()
        running = sum(tenant_of(self.jobs[i].group) == tenant for b in books for i in b.order())
        if bounds.held:
            return 0
        return max(0, bounds.most - running) if bounds.most else 1_000_000

    def able(self, name: bytes) -> list[int]:
        """Return how many ready jobs of a group may be claimed, by tier: of high ones first."""
        left, able = self.room(name), []
        for tier in range(4):
            able.append(min(left, len(self.lanes.get((tier, name), ()))))
            left -= able[-1]
        return able

    def able_there(self, name: bytes) -> list[int]:
        """Return the same by the tiers whose turns they have."""
        able, there = self.able(name), [0, 0, 0, 0]
        for tier in range(4):
            there[self.groups[name].place(tier)] += able[tier]
        return there

    def room(self, name: bytes) -> int:
        """Return how many jobs of a group may be claimed now."""
        group = self.groups[name]
        if group.stopped or (group.serial and self.waits_for_retry(group)):
            return 0
        most = 1 if group.serial else group.most
        running = sum(self.jobs[i].group == name for b in self.books.values() for i in b.order())
        return max(0, most - running) if most else 1_000_000

    def waits_for_retry(self, group: Totals) -> bool:
        """Return whether the job that a serial group waits for is delayed, or at its gate."""
        job = self.jobs.get(group.next_id) if group.next_id is not None else None
        return job is not None and job.place in {Place.DELAYED, Place.PARKED}

    def kept(self, *, held: bool) -> int:
        """Return how many ready jobs may not be claimed: of what is held, or of the rest."""
        tenants = (t for t in self.names() if self.tenants.get(t, Bounds()).held == held)
        apart = sum(sum(self.let(t)) - sum(self.able_of(t)) for t in tenants)
        waiting = {n: [ids for (_, g), ids in self.lanes.items() if g == n] for n in self.groups}
        return apart + sum(
            sum(map(len, lanes)) - sum(self.able(name))
            for name, lanes in waiting.items()
            if self.groups[name].stopped == held
        )

    def owns(self, nonce: str, epoch: int) -> bool:
        """Return whether this life owns the partition."""
        return self.owner is not None and (self.owner.nonce, self.owner.epoch) == (nonce, epoch)

    def may_end_jobs(self, nonce: str, epoch: int) -> bool:
        """Return whether this life owns the partition or is draining."""
        draining = self.draining.get(epoch)
        return self.owns(nonce, epoch) or (draining is not None and draining[0] == nonce)

    def is_late(self, job_id: bytes) -> bool:
        """Return whether a job may not start any more."""
        expires_s = self.jobs[job_id].expires_s
        return expires_s is not None and expires_s <= self.now_s

    def covered(self, job: Job) -> bool:
        """Return whether the job's group was cancelled after it was enqueued."""
        return job.order <= self.groups[job.group].cut

    def is_copied(self, job_id: bytes) -> bool:
        """Return whether a job stays as it is, since it may be in another partition, too."""
        return self.groups[self.jobs[job_id].group].closed

    def unwanted(self, job: Job) -> bool:
        """Return whether the job ends as cancelled when it leaves a book."""
        return job.asked or self.covered(job)

    def leave(self, job_id: bytes) -> None:
        """Take a job out of the place that it is in; ready jobs leave their lane."""
        job = self.jobs[job_id]
        if job.place is Place.READY:
            lane = self.lanes[job.tier, job.group]
            lane.remove(job_id)
            if not lane:
                del self.lanes[job.tier, job.group]
        elif job.place is Place.PARKED:
            at = job.gate, job.tier, job.group
            self.gates[at].remove(job_id)
            if not self.gates[at]:
                del self.gates[at]
        elif job.place is Place.BOOKED:
            book = self.books[job.epoch]
            book.remove(job_id)
            if not book.order():
                del self.books[job.epoch]
        elif job.place is Place.DELAYED:
            self.groups[job.group].delayed -= 1
            if job.aside:
                job.aside = job.error = b""

    def put_ready(self, job_id: bytes, *, front: bool) -> None:
        """Put a job into its lane."""
        job = self.jobs[job_id]
        lane = self.lanes.setdefault((job.tier, job.group), [])
        lane.insert(0 if front else len(lane), job_id)
        job.place, job.asked = Place.READY, False

    def park(self, job_id: bytes, *, back: bool) -> None:
        """Put a job into its lane at its gate; back: before all but those that came back, too."""
        job = self.jobs[job_id]
        lane = self.gates.setdefault((job.gate, job.tier, job.group), [])
        returned = [n for n, other in enumerate(lane) if self.jobs[other].back]
        lane.insert(max(returned, default=-1) + 1 if back else len(lane), job_id)
        job.place, job.passed, job.asked, job.back = Place.PARKED, b"p", False, back

    def admitted(self, gate: bytes) -> int:
        """Return how many jobs were let through a gate and not claimed yet."""
        ready = (self.jobs[i] for i in self.at(Place.READY))
        return sum(job.gate == gate and job.passed > b"0" for job in ready if job.passed != b"c")

    def put_dead(self, job_id: bytes, error: bytes) -> None:
        """Bury a job that was in a book."""
        job = self.jobs[job_id]
        job.place, job.died, job.error, job.asked = (
            Place.DEAD,
            (self.now_s, self.call),
            error,
            False,
        )
        self.free_key(job_id)
        job.expires_s = None
        self.counters["died"] += 1
        batching.note(self, job_id, b"x")
        group = self.groups[job.group]
        group.dead += 1
        group.left -= 1

    def end(self, job_id: bytes, how: str) -> None:
        """Forget a job that is nowhere any more; every life of an id ends once.

        A group without any is forgotten a minute a job after its end, at most a day; after a day
        if it ever changed its tier.
        """
        job = self.jobs.pop(job_id)
        assert job.birth not in self.ended, f"{job_id!r} ended as {self.ended[job.birth]} before"
        self.ended[job.birth] = how
        self.counters[how] += 1
        batching.note(self, job_id, how)
        group = self.groups[job.group]
        if job.place is Place.DEAD:
            group.dead -= 1
        else:
            if self.holders.get(job.key[1:]) == job_id:
                del self.holders[job.key[1:]]
            group.left -= 1
            self.remember(job_id)
        setattr(group, how, getattr(group, how) + 1)
        if group.left == 0 and group.dead == 0:
            soon_s = DAY_S if group.moved else min(DAY_S, MINUTE_S * group.total)
            group.forget_s = self.now_s + max(group.keep_s, soon_s)

    def free_key(self, job_id: bytes) -> None:
        """Free the key that a job holds, if it does."""
        key = self.jobs[job_id].key[1:]
        if self.holders.get(key) == job_id:
            del self.holders[key]

    def note_start(self, job_id: bytes) -> None:
        """A job starts: it expires no more, and may free its key."""
        job = self.jobs[job_id]
        job.expires_s = None
        if job.key[:1] == b"s":
            self.free_key(job_id)
            job.key = b"S" + job.key[1:]

    def remember(self, job_id: bytes) -> None:
        """Remember that an id ended now."""
        self.ends.turn(self.now_s)
        self.ends.sets[self.ends.in_use].add(job_id)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, more than the minutes for which ended ids are remembered."""
        self.now_s += seconds
        for name, group in list(self.groups.items()):
            if group.forget_s is not None and group.forget_s <= self.now_s:
                del self.groups[name]
