"""Prometheus metrics of the move of slots, from what a coordinator last saw of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator.snapshots.moves import MoveBoard


class Moves(Collector):
    """Whether slots move, for how long, and what is left. clock: seconds since 1970."""

    def __init__(self, board: MoveBoard, clock: Callable[[], float] = time.time) -> None:
        self._board, self._clock = board, clock

    def collect(self) -> Iterable[Metric]:
        """Return the current samples; all but the counter are 0 when nothing moves."""
        seen, jobs_left = self._board.under_way, self._board.jobs_left
        slots_left = 0 if seen is None else seen.slots_left
        for name, meaning, value in (
            ("running", "1 while a move of slots is running.", seen is not None),
            ("seconds", "Time since the running move was requested.", self._seconds()),
            ("slots_left", "Slots that the running move has not moved yet.", slots_left),
            (
                "jobs_left",
                "Approximate number of jobs that this process has yet to move.",
                jobs_left,
            ),
        ):
            yield GaugeMetricFamily(f"queuepool_move_{name}", meaning, value)
        meaning = "Jobs that this process has moved to another partition."
        yield CounterMetricFamily("queuepool_move_jobs_carried", meaning, self._board.carried)

    def _seconds(self) -> float:
        seen = self._board.under_way
        if seen is None or seen.asked_ms <= 0:
            return 0.0
        return max(0.0, self._clock() - seen.asked_ms / 1000)  # another machine's clock
