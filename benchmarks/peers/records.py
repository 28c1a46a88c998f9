"""Reading what the jobs wrote down, while they write.

Slots of a file are taken in order but written by many threads, so an unused slot may precede used
ones, for a moment or, after a kill, forever. Each pass begins at the first unused slot and ends
after a run of unused ones that is longer than any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.adapters.harness import RECORD, STARTED

_LONGEST_HOLE = 256
_READ = 4096 * RECORD.size


class Ran(NamedTuple):
    """One job that ended; times in ns of CLOCK_MONOTONIC."""

    enqueued: int
    started: int
    ended: int
    id: int
    is_rival: int


@dataclass
class _Place:
    first_unused: int = 0  # slots before it are read
    beyond: set[int] = field(default_factory=set)  # slots after it that are read


class Records:
    """All records of a folder, in the order in which they were found."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[Path, _Place] = {}
        self.ran: list[Ran] = []
        self.starts = 0  # where the order asked to note them

    def poll(self) -> int:
        """Read what is new; returns how many jobs have ended."""
        for path in self._folder.glob("*.records"):
            self._read(path, self._places.setdefault(path, _Place()))
        return len(self.ran)

    def ids(self) -> set[int]:
        """Return the ids of all jobs that ended, as of the last poll."""
        return {ran.id for ran in self.ran}

    def _read(self, path: Path, place: _Place) -> None:
        slot, hole = place.first_unused, 0
        with path.open("rb") as file:
            file.seek(slot * RECORD.size)
            while hole < _LONGEST_HOLE and (chunk := file.read(_READ)):
                whole = chunk[: len(chunk) // RECORD.size * RECORD.size]
                for *fields, mark in RECORD.iter_unpack(whole):
                    hole = 0 if mark else hole + 1
                    if mark and slot not in place.beyond:
                        place.beyond.add(slot)
                        if mark == STARTED:
                            self.starts += 1
                        else:
                            self.ran.append(Ran(*fields))
                    slot += 1
                    if hole >= _LONGEST_HOLE:
                        break
                if len(chunk) < _READ:
                    break
        while place.first_unused in place.beyond:
            place.beyond.remove(place.first_unused)
            place.first_unused += 1
