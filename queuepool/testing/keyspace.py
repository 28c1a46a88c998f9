"""The keys of one partition in memory, who may write to them, and what is in flight. Times are ms.

Each field represents the Redis key of queuepool.protocol.keys that its comment names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from queuepool.testing.batch import Batch
from queuepool.testing.ended import Ended
from queuepool.testing.gates import Gates
from queuepool.testing.groups import Group
from queuepool.testing.limits import Limit
from queuepool.testing.records import Lane, OwnerRecord, StoredCommand
from queuepool.testing.scored import ScoredSet
from queuepool.testing.seats import Seats
from queuepool.testing.tallies import Tallies
from queuepool.testing.tenants import Tenant
from queuepool.testing.wishes import Wishes

Args = Sequence[bytes]


@dataclass(slots=True)
class Keyspace:
    """One partition. now: the time of the running verb; began: the ms of the last start."""

    now: int = 0
    began: float = 0.0
    jobs: dict[bytes, bytes] = field(default_factory=dict)  # j
    lanes: dict[Lane, deque[bytes]] = field(default_factory=dict)  # q:<tier>:<group>
    seats: Seats = field(default_factory=Seats)  # ring:<tier> and tr:<tier>:<tenant>
    books: dict[int, ScoredSet] = field(default_factory=dict)  # fl:<epoch>
    delayed: ScoredSet = field(default_factory=ScoredSet)  # dl
    urgent: ScoredSet = field(default_factory=ScoredSet)  # du
    asides: dict[bytes, bytes] = field(default_factory=dict)  # ua
    tasks: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)  # ht: held or released
    dead: ScoredSet = field(default_factory=ScoredSet)  # dead
    wishes: Wishes = field(default_factory=Wishes)  # u, uk and ex
    gates: Gates = field(default_factory=Gates)  # lm, gt, ga, gk, gr, gq and gg
    attempts: dict[bytes, int] = field(default_factory=dict)  # at
    crashes: dict[bytes, int] = field(default_factory=dict)  # cr
    errors: dict[bytes, bytes] = field(default_factory=dict)  # er
    history: deque[bytes] = field(default_factory=deque)  # h
    progress: dict[bytes, bytes] = field(default_factory=dict)  # pr
    cancels: dict[bytes, int] = field(default_factory=dict)  # cn
    marks: set[bytes] = field(default_factory=set)  # cx
    ended: Ended = field(default_factory=Ended)  # dn:<0|1>; dn and dn_since of c
    results: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)  # r:<id>
    groups: dict[bytes, Group] = field(default_factory=dict)  # g:<group>
    managed: dict[bytes, int] = field(default_factory=dict)  # mg: how many jobs may be claimed
    frozen: set[bytes] = field(default_factory=set)  # mv
    noted: set[bytes] = field(default_factory=set)  # mn
    closings: dict[bytes, int] = field(default_factory=dict)  # mr
    tenants: dict[bytes, Tenant] = field(default_factory=dict)  # mt, and tn:<tenant>
    tallies: Tallies = field(default_factory=Tallies)  # tt:<tenant>
    counters: dict[str, int] = field(default_factory=dict)  # c
    owner: OwnerRecord | None = None  # o
    draining: dict[int, tuple[bytes, int]] = field(default_factory=dict)  # dr
    pools: set[bytes] = field(default_factory=set)  # pl
    to_recover: deque[int] = field(default_factory=deque)  # rec
    commands: deque[StoredCommand] = field(default_factory=lambda: deque(maxlen=200))  # cmd
    checkpoint: dict[str, int] = field(default_factory=dict)  # ck
    tokens: deque[bytes] = field(default_factory=deque)  # wk
    limits: dict[bytes, Limit] = field(default_factory=dict)  # li, lc, lt, lw and ls
    fires: dict[bytes, tuple[int, bytes, int]] = field(default_factory=dict)  # sf:<schedule>
    batches: dict[bytes, Batch] = field(default_factory=dict)  # b, bb, bf and br
    batches_due: dict[bytes, int] = field(default_factory=dict)  # bd
    untold: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)  # fo
    told: int = 0  # entries of fo ever
    outboxes: dict[bytes, tuple[int, int]] = field(default_factory=dict)  # ob:<outbox>
    asking: dict[bytes, int] = field(default_factory=dict)  # lp: partition -> its newest epoch

    def count(self, name: str, by: int = 1) -> None:
        """Change a counter."""
        self.counters[name] = self.counters.get(name, 0) + by

    def wake(self, token: bytes) -> None:
        """Leave a wake token, at most one of each kind."""
        if token not in self.tokens:
            self.tokens.append(token)

    # -- who may write -----------------------------------------------------------------------------

    def refuse(self, args: Args, *, draining_may: bool, count: bool = True) -> list[bytes] | None:
        """Return the FENCED reply unless args begin with the nonce and epoch of an owner."""
        nonce, epoch, owner = args[0], int(args[1]), self.owner
        if owner is not None and owner.nonce == nonce and owner.epoch == epoch:
            return None
        if draining_may and self.drains(nonce, epoch):
            return None
        if count:
            self.count("fenced")
        return [b"FENCED", b"%d" % (owner.epoch if owner else 0)]

    def drains(self, nonce: bytes, epoch: int) -> bool:
        """Return whether this epoch is of a draining predecessor."""
        leaving = self.draining.get(epoch)
        return leaving is not None and leaving[0] == nonce

    # -- what is in flight -------------------------------------------------------------------------

    def book(self, epoch: int) -> ScoredSet:
        """Return the in-flight set of an ownership; empty when there is none."""
        return self.books.get(epoch) or ScoredSet()

    def open_book(self, epoch: int) -> ScoredSet:
        """Return the in-flight set of an ownership, for writing to it."""
        return self.books.setdefault(epoch, ScoredSet())

    def begin(self, epoch: int, job_id: bytes) -> None:
        """Record a job as running, after all that started before it."""
        self.began = max(self.now, self.began + 0.001)
        self.open_book(epoch).add(job_id, self.began)
        self.wishes.note_start(job_id)

    def unbook(self, epoch: int, job_id: bytes) -> bool:
        """Remove a job from an in-flight set; return whether it was there. Drops an empty set."""
        book = self.books.get(epoch)
        if book is None or not book.remove(job_id):
            return False
        if not book:
            del self.books[epoch]
        return True

    def epochs(self) -> list[int]:
        """Return the epochs that may have jobs in flight: to recover, draining, the owner's."""
        return [*list(self.to_recover)[:100], *self.running_epochs()]

    def running_epochs(self) -> list[int]:
        """Return the epochs whose jobs may run: of draining processes and of the owner."""
        # The epoch of an owner that left is among those to recover or draining.
        current = [self.owner.epoch] if self.owner is not None and self.owner.nonce else []
        return [*self.draining, *current]
