"""What was enqueued against what was executed.

Enqueued ids come from the replies of the server, executed ones from the files that the tasks
write; neither is derived from the other, nor from the queue's own counters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_READ = 4 * 1024**2


@dataclass(frozen=True, slots=True)
class SmallGroup:
    """A group that someone waits for: when it was enqueued (ms), and its ids."""

    at_ms: int
    ids: tuple[str, ...]


@dataclass(slots=True)
class Ledger:
    """Both sides of the ledger. `read` is for one thread; `expect` may be called by others."""

    directory: Path
    enqueued: set[str] = field(default_factory=set)
    groups: list[SmallGroup] = field(default_factory=list)
    started_ms: dict[str, int] = field(default_factory=dict)
    again: Counter[str] = field(default_factory=Counter)
    _positions: dict[Path, int] = field(default_factory=dict)

    def expect(self, ids: Iterable[str]) -> None:
        """Note ids that the server accepted."""
        self.enqueued.update(ids)

    def expect_group(self, group: SmallGroup) -> None:
        """Note a small group that the server accepted."""
        self.enqueued.update(group.ids)
        self.groups.append(group)

    def read(self) -> None:
        """Read what was executed since the last call."""
        for path in self.directory.glob("*.executions"):
            while self._read_some(path):
                pass

    def _read_some(self, path: Path) -> bool:
        with path.open("rb") as file:
            file.seek(self._positions.get(path, 0))
            block = file.read(_READ)
        whole = block[: block.rfind(b"\n") + 1]
        self._positions[path] = self._positions.get(path, 0) + len(whole)
        for line in whole.decode().splitlines():
            job_id, _, started = line.partition(" ")
            if job_id in self.started_ms:
                self.again[job_id] += 1
            else:
                self.started_ms[job_id] = int(started)
        return len(whole) > 0

    @property
    def lost(self) -> int:
        """Return how many enqueued jobs were never executed."""
        return len(self.enqueued - self.started_ms.keys())

    @property
    def duplicates(self) -> int:
        """Return how many jobs were executed more than once."""
        return len(self.again)

    @property
    def unexpected(self) -> int:
        """Return how many executed ids were never enqueued."""
        return len(self.started_ms.keys() - self.enqueued)

    def waits_s(self, until_ms: float = math.inf) -> list[float]:
        """Return, sorted, how long each small group waited.

        From its enqueue call to the start of its last job; groups that have not all started yet,
        or were enqueued after until_ms, are left out.
        """
        waits = []
        for group in list(self.groups):
            starts = [self.started_ms.get(job_id) for job_id in group.ids]
            if None not in starts and group.at_ms <= until_ms:
                waits.append((max(s for s in starts if s is not None) - group.at_ms) / 1000)
        return sorted(waits)


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest value that `share` of the sorted values do not exceed. Pure."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
