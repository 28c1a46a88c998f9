"""Observes every partition: one round trip per server, whose failure affects only itself."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.core.events import ObservationFailed
from coordinator.core.model import Observation, finished_total
from coordinator.loop.fleet import Fleet
from queuepool.errors import QueuePoolError
from queuepool.models import PartitionState
from queuepool.models.eta import Pace
from queuepool.telemetry.events import Listener, ignore
from queuepool.verbs import Verb
from queuepool.verbs.operator.verbs import observe

_PACE_S = 15.0  # by which what was seen fades
_UNKNOWN = Pace()


@dataclass(frozen=True, slots=True)
class _Count:
    at_s: float
    finished: int
    running: int


class Observer:
    """Observes all partitions and measures how fast they finish. Used by one thread."""

    def __init__(
        self, fleet: Fleet, *, emit: Listener = ignore, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fleet, self._emit, self._clock = fleet, emit, clock
        self._verbs: list[tuple[int, Verb[PartitionState]]] = []
        self._last: dict[int, _Count] = {}
        self.finished_per_s: dict[int, float] = {}
        self.paces: dict[int, Pace] = {}
        self.reached: dict[str, bool] = dict.fromkeys(fleet.servers, False)

    def observe(self) -> Sequence[Observation]:
        """Return one observation per partition, in order. Does not raise if a server is down."""
        self._fleet.follow()
        if len(self._verbs) != len(self._fleet.partitions):
            self._verbs = [(n, observe(n)) for n in self._fleet.partitions]
        replies = self._fleet.run(self._verbs)
        at_s = self._clock()
        seen: list[Observation] = []
        failed: dict[str, list[Observation]] = {}
        for (number, verb), reply in zip(self._verbs, replies, strict=True):
            try:
                observation = Observation(partition=number, at_s=at_s, state=verb.read(reply))
            except QueuePoolError as error:
                observation = Observation(partition=number, at_s=at_s, problem=str(error)[:300])
                failed.setdefault(self._fleet.server_of(number), []).append(observation)
            self._measure(observation)
            seen.append(observation)
        self._note_servers(seen, failed)
        return seen

    def _note_servers(
        self, seen: Sequence[Observation], failed: Mapping[str, Sequence[Observation]]
    ) -> None:
        held = dict.fromkeys(self._fleet.servers, 0)
        for observation in seen:
            held[self._fleet.server_of(observation.partition)] += 1
        self.reached = {n: len(failed.get(n, ())) < count for n, count in held.items()}
        for name, missing in failed.items():
            numbers = tuple(observation.partition for observation in missing)
            self._emit(ObservationFailed(name, numbers, missing[0].problem))

    def _measure(self, seen: Observation) -> None:
        if seen.state is None:
            return
        owner = seen.state.owner
        running = min(seen.state.in_flight, owner.workers if owner is not None else 0)
        now = _Count(seen.at_s, finished_total(seen.state), max(running, 0))
        last = self._last.get(seen.partition)
        if last is not None and now.at_s > last.at_s:
            # A counter that fell back lost writes in a failover; it did not run backwards.
            passed_s, ended = now.at_s - last.at_s, max(now.finished - last.finished, 0)
            self.finished_per_s[seen.partition] = ended / passed_s
            pace = self.paces.get(seen.partition, _UNKNOWN)
            keep, worker_s = math.exp(-passed_s / _PACE_S), now.running * passed_s
            self.paces[seen.partition] = pace.faded(keep, ended, worker_s)
        self._last[seen.partition] = now
