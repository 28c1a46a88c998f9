"""What all kinds of pools share."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from consumer.core.jobs import Outcome


class Runs(Protocol):
    """What every pool needs from its runner.

    start_until_s: no job starts after it. late: one came too late, so none behind it starts.
    """

    start_until_s: float
    late: bool


R = TypeVar("R", bound=Runs)


class Pool(Generic[R]):
    """Runs jobs. `ring` is called whenever an execution has ended.

    The interface is described in consumer.workers.
    """

    def __init__(self, runner: R, ring: Callable[[], None]) -> None:
        self._runner, self._ring = runner, ring
        self._ended: deque[Outcome] = deque()

    @property
    def start_until_s(self) -> float:
        """Return the monotonic time after which no job may start."""
        return self._runner.start_until_s

    @start_until_s.setter
    def start_until_s(self, until_s: float) -> None:
        self._runner.start_until_s = until_s

    @property
    def late(self) -> bool:
        """Return whether a job came too late, so that no other starts until this is reset."""
        return self._runner.late

    @late.setter
    def late(self, late: bool) -> None:
        self._runner.late = late

    @property
    def spare(self) -> int:
        """Return how many slots there are beyond the target; negative while some are missing."""
        return 0

    @property
    def replaced(self) -> Counter[str]:
        """Return how many child processes ended, by cause."""
        return Counter()

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call; the first end of a job counts."""
        ended, found = self._ended, []
        for _ in range(len(ended)):
            outcome = ended.popleft()
            if not outcome.job.ended:
                outcome.job.ended = True
                found.append(outcome)
        return found
