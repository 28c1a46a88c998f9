"""A task group in memory: its totals, and how it may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

TIERS = (0, 1, 2, 3)
Waits = Callable[[bytes | None], bool]  # whether a job is delayed or parked
ANY = 1_000_000  # jobs: room without bounds


@dataclass(slots=True)
class Group:
    """Totals of a task group."""

    total: int = 0
    left: int = 0
    dead: int = 0
    cancelled: int = 0
    delayed: int = 0
    parked: int = 0
    created: int = 0
    finished: int = 0
    cancelled_at: int = -1
    done: int = 0
    evicted: int = 0
    discarded: int = 0
    expired: int = 0
    hold: int = 0  # since when; 0: it is not held
    most: int = 0  # max: jobs that may run at once; 0: any number
    serial: bool = False
    weight: int = 1
    next_id: bytes | None = None  # rt: the delayed job that the others of a serial group wait for
    waiting: Counter[int] = field(default_factory=Counter)  # w0-w3: ready jobs, by tier
    able: Counter[int] = field(default_factory=Counter)  # c0-c3: those that may be claimed
    apart: int = 0  # the others, counted as held or capped
    state: str = ""  # which of these; "" without settings
    owed: Counter[int] = field(default_factory=Counter)  # t0-t3: jobs left of a turn cut short
    out: set[int] = field(default_factory=set)  # o0-o3: tiers of lanes that lost their seats
    expires: int | None = None
    tier: int | None = None  # whose turns its jobs have, instead of their own
    moved: int = 0  # the least stamp of seats that count, once its tier was changed
    moving: int = 0  # the version of the move that it is part of; 0: of none
    arrived: int = 0  # the one by which totals came
    closed: bool = False  # its jobs are being copied, and stay as they are
    slot: int = -1  # while it is on its way
    spread: int = 0  # over how many slots it is spread; 0: it is not
    keep: int = 0  # ms for which settings stay without work; 0: as other groups

    @property
    def settings(self) -> tuple[object, ...]:
        """Return how it may run; whether it is held, not since when."""
        return self.hold > 0, self.most, self.serial, self.weight, self.tier

    @property
    def is_held(self) -> bool:
        """Return whether none of its jobs may start: it is held, or on its way."""
        return self.hold > 0 or self.moving > 0

    @property
    def has_settings(self) -> bool:
        """Return whether it is held, or has a bound, or more turns than others."""
        bound = self.is_held or self.most > 0 or self.serial
        return bound or self.weight > 1 or self.moved > 0

    def place(self, tier: int) -> int:
        """Return the tier whose turns its lane of a tier has."""
        return tier if self.tier is None else self.tier

    def room(self, waits: Waits) -> int:
        """Return how many of its jobs may be claimed now."""
        if self.is_held or (self.serial and waits(self.next_id)):
            return 0
        most = 1 if self.serial else self.most
        running = self.left - self.delayed - self.parked - self.waiting.total()
        return max(0, most - running) if most else ANY

    def shares(self, waits: Waits) -> tuple[Counter[int], int]:
        """Return how many ready jobs of each tier may be claimed, and how many others there are."""
        left = self.room(waits)
        able: Counter[int] = Counter()
        for tier in TIERS:
            able[tier] = min(self.waiting[tier], left)
            left -= able[tier]
        return able, self.waiting.total() - able.total()


def able_there(group: Group, place: int) -> int:
    """Return how many jobs of a group may be claimed in the turns of a tier."""
    return sum(group.able[tier] for tier in TIERS if group.place(tier) == place)
