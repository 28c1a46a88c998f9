"""Observes every partition: a few round trips per server, whose failure affects only itself."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

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


class _Count(Struct, frozen=True):
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

    def observe(
        self, consider: Callable[[Sequence[Observation]], object] = ignore
    ) -> Sequence[Observation]:
        """Return one observation per partition, in order. Does not raise if a server is down.

        consider: told some of them as they come, while servers work on the next.
        """
        self._fleet.follow()
        if len(self._verbs) != len(self._fleet.partitions):
            self._verbs = [(n, observe(n)) for n in self._fleet.partitions]
        seen: dict[int, Observation] = {}
        for places, replies in self._fleet.stream(self._verbs):
            at_s = self._clock()
            some = [
                _read(*self._verbs[place], reply, at_s)
                for place, reply in zip(places, replies, strict=True)
            ]
            for observation in some:
                self._measure(observation)
                seen[observation.partition] = observation
            consider(some)
        observations = [seen[number] for number in self._fleet.partitions]
        self._note_servers(observations)
        return observations

    def _note_servers(self, seen: Sequence[Observation]) -> None:
        held = dict.fromkeys(self._fleet.servers, 0)
        failed: dict[str, list[Observation]] = {}
        for observation in seen:
            name = self._fleet.server_of(observation.partition)
            held[name] += 1
            if observation.state is None:
                failed.setdefault(name, []).append(observation)
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


def _read(number: int, verb: Verb[PartitionState], reply: Any, at_s: float) -> Observation:
    try:
        return Observation(partition=number, at_s=at_s, state=verb.read(reply))
    except QueuePoolError as error:
        return Observation(partition=number, at_s=at_s, problem=str(error)[:300])
