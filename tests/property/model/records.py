"""What the model keeps of single jobs, groups, owners and ended ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

MINUTE_S = 60


class Place(StrEnum):
    """Where a live job is; it is in one place."""

    READY = "ready"
    PARKED = "parked"
    DELAYED = "delayed"
    BOOKED = "booked"
    DEAD = "dead"


@dataclass(slots=True)
class Job:
    """One life of an id. order: the call that enqueued or replayed it."""

    birth: int
    order: int
    tier: int
    group: bytes
    size: int
    place: Place = Place.READY
    epoch: int = 0  # of the book that it is in
    due: tuple[float, int, int] = (0.0, 0, 0)  # second it is due, call that delayed it, place there
    died: tuple[float, float] = (0.0, 0)  # second, call; between calls: it came by a move
    attempts: int = 0
    crashes: int | None = None  # 0: recovered, and was not seen to start
    error: bytes = b""
    payload: bytes = b""  # its body from the slot on
    task: str = ""  # of its payload
    key: bytes = b""  # unique; behind until when it holds it: e, s, or S when that is over
    expires_s: float | None = None  # by when it is to start
    aside: bytes = b""  # the task that no one knows, of a delayed job
    asked: bool = False
    gate: bytes = b""  # its limits, joined by commas
    passed: bytes = (
        b""  # of a job with a gate: p parked, c claimed, 0 never there, or who let it in
    )
    back: bool = False  # it is parked, and was at its gate before


@dataclass(slots=True)
class Book:
    """What one ownership has claimed: jobs that started, and jobs that wait in its memory."""

    started: list[bytes] = field(default_factory=list)
    waiting: list[bytes] = field(default_factory=list)
    past: bool = False  # the one that started last was recovered

    def order(self) -> list[bytes]:
        """Return the ids as the server sorts them: what waits first."""
        return [*self.waiting, *self.started]

    def remove(self, job_id: bytes) -> None:
        """Remove an id, wherever it stands."""
        for ids in (self.started, self.waiting):
            if job_id in ids:
                ids.remove(job_id)


@dataclass(slots=True)
class Totals:
    """A task group. cut: the last call whose jobs were cancelled with it."""

    total: int = 0
    left: int = 0
    dead: int = 0
    cancelled: int = 0
    delayed: int = 0
    done: int = 0
    evicted: int = 0
    discarded: int = 0
    expired: int = 0
    cut: int = -1
    held: bool = False
    most: int = 0  # jobs that may run at once; 0: any number
    serial: bool = False
    weight: int = 1
    tier: int | None = None  # whose turns its jobs have, instead of their own
    moved: bool = False  # its tier was ever changed
    next_id: bytes | None = None  # which a serial group retried, or parked, last
    forget_s: float | None = None
    keep_s: int = 0  # for which its settings stay without work
    moving: int | None = None  # on its way to another partition, or from it, by this version
    arrived: int | None = None  # the same; how its former jobs ended came with it
    closed: bool = False  # jobs that do not run stay as they are

    @property
    def stopped(self) -> bool:
        """Return whether none of its jobs may start, whatever else its settings say."""
        return self.held or self.moving is not None

    def place(self, tier: int) -> int:
        """Return the tier whose turns its lane of a tier has."""
        return tier if self.tier is None else self.tier

    def forget_next(self) -> None:
        """Without any settings left, it waits for no job."""
        if not (self.stopped or self.most or self.serial or self.weight > 1 or self.moved):
            self.next_id, self.keep_s = None, 0


@dataclass(slots=True)
class Bounds:
    """How a tenant may run. most: jobs at once; 0: any number."""

    held: bool = False
    most: int = 0
    weight: int = 1


@dataclass(slots=True)
class Owner:
    """Who owns the partition; no one when the nonce is empty."""

    nonce: str
    epoch: int
    until_s: float
    beat: int = 0
    applied: str = "0-0"


@dataclass(frozen=True, slots=True)
class Closings:
    """By which versions slots closed: all that did from version `since` to version `until`."""

    since: int
    until: int
    slots: Mapping[int, int]


@dataclass
class Ends:
    """Ids that ended, in two sets; one is in use for a minute, then the other one, emptied."""

    sets: list[set[bytes]] = field(default_factory=lambda: [set(), set()])
    in_use: int = 0
    since_s: float = -1e9

    def turn(self, now_s: float) -> None:
        """Use the other set when this one's minute is over."""
        if now_s - self.since_s >= MINUTE_S:
            self.drop_over(now_s)
            self.in_use, self.since_s = 1 - self.in_use, now_s
            self.sets[self.in_use] = set()

    def drop_over(self, now_s: float) -> None:
        """Forget the sets all of whose ids ended more than a minute ago."""
        for n in (0, 1):
            if now_s - self.since_s >= (2 if n == self.in_use else 1) * MINUTE_S:
                self.sets[n] = set()

    def known(self, now_s: float) -> set[bytes]:
        """Return the ids that are not forgotten."""
        young = Ends(list(self.sets), self.in_use, self.since_s)
        young.drop_over(now_s)
        return young.sets[0] | young.sets[1]
