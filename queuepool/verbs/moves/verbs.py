"""Verbs that move task groups from one partition to another: A gives, B takes. Pure.

    walk, freeze   A   which groups there are; none of their jobs starts any more
    export         A   jobs in the order in which they are to arrive, up to 100
    adopt          B   the same; B keeps them frozen, and knows those that it has
    forget         A   deletes what B has; at last the group itself
    thaw           B   after the route says so: all that is frozen may start

Batches have verbs of their own (queuepool.verbs.moves.batches), and the same `thaw`.

All but `walk` and `probe` name the version of the route that belongs to this step of the move:
the least one that the partition accepts (`turn_away`). So what a replaced leader sends late is
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from queuepool.protocol import codec
from queuepool.verbs import Argument, Verb
from queuepool.verbs.routed import here

Named = dict[bytes, int | None]  # group -> slot; None: its record does not say

MAX_GROUPS = 200
MAX_JOBS = 100  # more hold a server up for longer than a claim does
MAX_BYTES = 4 * 1024 * 1024
_PLAIN, _WORDS = 3, 11  # of a job in a lane of which nothing else is known; of any other one
# Of a group's record: what it is told to do, and how jobs ended. The rest follows from its jobs.
_SETTINGS = (b"hold", b"max", b"serial", b"weight", b"tier", b"spread", b"moved", b"keep", b"rt",
             b"cancelled_at", b"created", b"finished", b"slot")  # fmt: skip
_TOTALS = (b"done", b"cancelled", b"evicted", b"discarded", b"expired")


@dataclass(frozen=True, slots=True)
class Walked:
    """Some groups of a partition.

    jobs: how many that are not dead, about; dead: ids of dead jobs; by group. batches: with their
    slots.
    """

    slots: dict[bytes, int] = field(default_factory=dict)
    jobs: dict[bytes, int] = field(default_factory=dict)
    dead: dict[bytes, list[bytes]] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)

    def of(self, slots: Container[int]) -> Walked:
        """Return those of these slots."""
        kept = {group: slot for group, slot in self.slots.items() if slot in slots}
        jobs = {group: n for group, n in self.jobs.items() if group in kept}
        dead = {group: ids for group, ids in self.dead.items() if group in kept}
        batches = {name: slot for name, slot in self.batches.items() if slot in slots}
        return Walked(kept, jobs, dead, batches)

    def by_slot(self) -> Counter[int]:
        """Return how many jobs, about, each slot has, dead ones too."""
        found = Counter[int]()
        for group, slot in self.slots.items():
            found[slot] += self.jobs.get(group, 0) + len(self.dead.get(group, ()))
        return found

    def has_jobs(self, group: bytes) -> bool:
        """Return whether a group has jobs, dead ones too."""
        return group in self.jobs or group in self.dead

    def add(self, more: Walked) -> None:
        """Add what another page has."""
        self.slots.update(more.slots)
        for group, n in more.jobs.items():
            self.jobs[group] = self.jobs.get(group, 0) + n
        for group, ids in more.dead.items():
            self.dead.setdefault(group, []).extend(ids)
        self.batches.update(more.batches)


@dataclass(frozen=True, slots=True)
class Exported:
    """What a partition has of a group. words: of all its jobs, as `adopt` takes them."""

    record: dict[bytes, bytes]
    words: Sequence[bytes]

    @property
    def jobs(self) -> Iterator[Sequence[bytes]]:
        """Yield the words of each job: its id, its body, and what else is known of it."""
        words, begin = self.words, 0
        while begin < len(words):
            end = begin + (_WORDS if words[begin + 2] else _PLAIN)
            yield words[begin:end]
            begin = end

    @property
    def stamps(self) -> list[tuple[bytes, bytes]]:
        """Return the id of each job, and the stamp of its body."""
        return [(job[0], codec.read_stamp(job[1])) for job in self.jobs]

    @property
    def settings(self) -> dict[bytes, bytes]:
        """Return how the group may run."""
        return {name: self.record[name] for name in _SETTINGS if name in self.record}

    def without_settings(self) -> Exported:
        """Return the same of a group that is to run as it does already."""
        kept = (*_TOTALS, b"created", b"slot", b"arrived")
        record = {name: value for name, value in self.record.items() if name in kept}
        return Exported(record, self.words)

    @property
    def totals(self) -> dict[bytes, bytes]:
        """Return how jobs that are gone have ended; never empty."""
        return {name: self.record.get(name, b"0") for name in _TOTALS}


@dataclass(frozen=True, slots=True)
class Adopted:
    """What a partition said to jobs. clashes: places of those whose id another job has there."""

    here: list[int] = field(default_factory=list)
    clashes: list[int] = field(default_factory=list)


def walk(cursor: bytes = b"0", *, jobs: int = 500) -> Verb[tuple[bytes, Walked]]:
    """Return the next cursor, b"0" at the end, and the groups of about so many jobs."""

    def read(r: Any) -> tuple[bytes, Walked]:
        page, flat = Walked(), r[1]
        for i in range(0, len(flat), 3):
            page.slots[flat[i + 1]] = int(flat[i], 16)
            if flat[i + 2][:1] == b"=" and flat[i + 2][1:].isdigit():
                page.jobs[flat[i + 1]] = int(flat[i + 2][1:])
            else:
                page.dead.setdefault(flat[i + 1], []).append(flat[i + 2])
        return bytes(r[0]), page

    return Verb("walk", [cursor, jobs, ""], read)


def tenants(cursor: bytes = b"0") -> Verb[tuple[bytes, list[bytes]]]:
    """Return the next cursor, b"0" at the end, and the names of some tenants with settings."""
    return Verb("walk", [cursor, 200, "t"], lambda r: (bytes(r[0]), list(map(bytes, r[1]))))


def frozen(cursor: bytes = b"0") -> Verb[tuple[bytes, Named]]:
    """Return the next cursor, b"0" at the end, and some groups that are frozen.

    They may have no jobs any more: a move that is resumed begins with these.
    """
    return Verb("walk", [cursor, 200, "m"], _named)


def configured(cursor: bytes = b"0") -> Verb[tuple[bytes, Named]]:
    """Return the same of groups that were configured while slots move."""
    return Verb("walk", [cursor, 200, "n"], _named)


def recorded(cursor: bytes = b"0", *, keys: int = 1000) -> Verb[tuple[bytes, Named]]:
    """Return the same of groups that have a record, with jobs or without.

    keys: of the server, about, that a call looks at.
    """
    return Verb("walk", [cursor, keys, "r"], _named)


def _named(r: Any) -> tuple[bytes, Named]:
    pairs = zip(r[1][1::2], r[1][::2], strict=True)
    return bytes(r[0]), {bytes(group): int(slot) if slot else None for group, slot in pairs}


def probe(number: int) -> Verb[int]:
    """Leave a number in a place, or none (0); return the one that was there, 0 for none."""
    return Verb("probe", [number], int)


def freeze(version: int, groups: Mapping[bytes, int], *, closed: bool = False) -> Verb[list[int]]:
    """Let no job of groups start; return how many of each run still, -1 for an unknown group.

    groups: up to 200, with their slots. closed: whether these are, so that jobs that do not run are
    to stay as they are.
    """
    flat = [word for pair in groups.items() for word in pair]
    args = [version, 1 if closed else "", *flat]
    return Verb("freeze", args, lambda r: [int(n) for n in current(r)])


def export(version: int, group: bytes, dead: Sequence[bytes] = ()) -> Verb[Exported]:
    """Return jobs of a frozen group: those that come first, or these dead ones."""

    def read(r: Any) -> Exported:
        record, words = current(r)
        pairs: Iterator[bytes] = iter(record)
        return Exported(dict(zip(pairs, pairs, strict=True)), words)

    return Verb("export", [version, group, MAX_JOBS, MAX_BYTES, *dead], read)


def adopt(version: int, group: bytes, jobs: Exported, *, last: bool = False) -> Verb[Adopted]:
    """Take jobs over. last: with the totals of those that have ended, which count once."""
    settings, totals = jobs.settings, jobs.totals if last else {}
    args: list[Argument] = [version, group]
    for pairs in (settings, totals):
        args += [len(pairs), *(word for pair in pairs.items() for word in pair)]

    def read(r: Any) -> Adopted:
        said = bytes(current(r))
        here = [i for i, status in enumerate(said) if status != ord("c")]
        return Adopted(here, [i for i, status in enumerate(said) if status == ord("c")])

    return Verb("adopt", [*args, *jobs.words], read)


def forget(
    version: int, group: bytes, jobs: Sequence[tuple[bytes, bytes]], *, last: bool = False
) -> Verb[tuple[int, int]]:
    """Delete jobs, by id and stamp; return how many are left, and dead ones.

    last: the group as well, if it has none.
    """
    flat = [word for job in jobs for word in job]
    args = [version, group, 1 if last else "", *flat]
    return Verb("forget", args, _left)


def drop_marks(version: int, group: bytes) -> Verb[int]:
    """Drop ids of cancelled jobs in front of the lanes of a group; return how many.

    Up to 1,000 of each lane, and never its last one.
    """
    return Verb("drop_marks", [version, group], lambda r: int(current(r)))


def forget_twin(version: int, group: bytes) -> Verb[tuple[int, int]]:
    """Delete a group that has no jobs, whose totals are elsewhere too, to make way for those.

    Once they have come by this version it does nothing, however late it arrives.
    """
    return Verb("forget", [version, group, 2], _left)


def _left(r: Any) -> tuple[int, int]:
    jobs, dead = current(r)
    return int(jobs), int(dead)


def thaw(version: int) -> Verb[int]:
    """Let jobs of up to 200 frozen groups start; return how many groups are frozen still."""
    return Verb("thaw", [version], lambda r: int(current(r)))


def current(reply: Any) -> Any:
    """Return the reply. Raises MovedError when the call was of another step, or move."""
    return here(reply)
