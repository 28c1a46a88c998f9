"""What a coordinator last said about the queue, and what it said in the last minutes.

One thread takes observations, any thread reads. Messages are those of the API, and never change.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Final

from queuepool.models.doctor import Verdict
from queuepool.models.places import DEFAULT_POOL, place_text
from queuepool.web.live.history import Ring

STEP_S: Final = 5.0  # of charts
POINTS: Final = 60
STALE_S: Final = 10.0  # after which an observation is old
_ROWS: Final = 330  # observations that are kept, one a second at most
_COARSE: Final = 70  # and of each partition, one in STEP_S
TOTALS: Final = (
    *("at", "backlog", "per_s", "oldest", "oldest_median", "target", "running", "busy"),
    *("failed_per_s",),
)
OF_PLACE: Final = ("at", "backlog", "per_s", "oldest", "target", "running", "busy")


@dataclass(frozen=True, slots=True)
class Look:
    """One observation of everything. cluster: None before the first; at_s: by our own clock.

    doctor: the coordinator's verdict, None if it gives none.
    """

    at_s: float = 0.0
    cluster: Any = None
    places: tuple[Any, ...] = ()
    problem: str = "no coordinator has been contacted yet"
    index: dict[str, Any] = field(default_factory=dict)
    doctor: Verdict | None = None

    @property
    def is_live(self) -> bool:
        """Return whether a coordinator answers."""
        return self.cluster is not None and not self.problem

    def is_fresh(self, now_s: float) -> bool:
        """Return whether one answers, and has done so lately."""
        return self.is_live and now_s - self.at_s <= STALE_S

    def sum(self, name: str) -> int:
        """Return the sum of a number over all partitions and pools."""
        return sum(getattr(place, name) for place in self.places)


class Board:
    """The latest look and the past. `began_s`: since when the past is known."""

    def __init__(self, origin_s: float | None = None) -> None:
        self.look = Look()
        # Times in rings count from here: they are floats of four bytes.
        self.origin_s = time.time() if origin_s is None else origin_s
        self._totals = Ring(_ROWS, len(TOTALS))
        self._places: dict[str, Ring] = {}
        self._coarse_s = float("-inf")
        self._failed = 0

    def take(
        self, places: Sequence[Any], cluster: Any, at_s: float, doctor: Verdict | None = None
    ) -> None:
        """Note an observation."""
        index = {name_of(place): place for place in places}
        self._append_totals(places, at_s - self.origin_s)
        if at_s - self._coarse_s >= STEP_S:
            self._coarse_s = at_s
            self._append_places(index, at_s - self.origin_s)
        self.look = Look(at_s, cluster, tuple(places), "", index, doctor)

    def fail(self, problem: str) -> None:
        """Note why nothing is known now; what was known last stays."""
        self.look = replace(self.look, problem=problem, doctor=None)

    def _append_totals(self, places: Sequence[Any], at: float) -> None:
        failed = sum(p.totals.failed_attempts for p in places)
        oldest = [p.oldest_waiting_ms / 1000 for p in places] or [0.0]
        passed_s = max(at + self.origin_s - self.look.at_s, 0.1)
        new = max(failed - self._failed, 0) if self.look.cluster is not None else 0
        self._failed = failed
        self._totals.append((
            at,
            sum(p.backlog for p in places),
            sum(p.throughput_per_s for p in places),
            max(oldest),
            median(oldest),
            *_workers(places),
            new / passed_s,
        ))  # fmt: skip

    def _append_places(self, index: dict[str, Any], at: float) -> None:
        for gone in self._places.keys() - index.keys():
            del self._places[gone]
        for name, p in index.items():
            ring = self._places.get(name)
            if ring is None:
                ring = self._places[name] = Ring(_COARSE, len(OF_PLACE))
            oldest = p.oldest_waiting_ms / 1000
            ring.append((at, p.backlog, p.throughput_per_s, oldest, *_workers((p,))))

    def totals(self) -> dict[str, list[float]]:
        """Return the past of the whole queue by name; "at" has seconds since `origin_s`."""
        return dict(zip(TOTALS, self._totals.columns(), strict=True))

    def past_of(self, place: str) -> dict[str, list[float]]:
        """Return the past of one partition or pool of it by name; empty lists if unknown."""
        ring = self._places.get(place) or Ring(1, len(OF_PLACE))
        return dict(zip(OF_PLACE, ring.columns(), strict=True))


def name_of(place: Any) -> str:
    """Return the name of a partition in a message, or of its pool: 3, or 3/video."""
    return place_text(place.partition, place.pool or DEFAULT_POOL)


def _workers(places: Iterable[Any]) -> tuple[int, int, int]:
    target = running = busy = 0
    for place in places:
        workers = place.workers
        target, running, busy = (
            target + workers.target,
            running + workers.running,
            busy + workers.busy,
        )
    return target, running, busy
