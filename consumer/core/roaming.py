"""Fewer consumers than partitions: an owner with nothing to do goes where work waits. Pure.

    owning --nothing is claimed for IDLE_S--> idle --looks every LOOK_S--> leaves --> standing by
       ^                                       |                             for what it found first
       `-------------- a job ------------------'

Only consumers that may own any partition (`auto`) roam. One leaves for a partition that nobody owns
and that has jobs to run; or, if it has none at all, also for jobs that wait for their limits. A
partition that is busy keeps its consumer: what nobody owns waits until one is idle.

Nobody leaves for the partition of an owner that may live although its lease is over, as after an
outage of its server (see outages); the next looks begin with what is watched. A look blocks the
owner: one call without a reply ends it, and that server is not asked again until the owner has had
twenty times as long for its own jobs.

An owner also leaves a place that its partition has left, for another server or since it is retired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core.outages import Outages
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.models.places import partition_at
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.effects import Steps
    from consumer.core.owner import Core

IDLE_S = 2.0
LOOK_S = 1.0
_AWAY_S = 5.0  # at least, until a server is asked again
_AWAY_SHARE = 0.05  # of the owner's time, at most, for calls to a server that is away
_A_LOOK = 16  # partitions, one call each; the next look goes on with the next ones


class Roaming:
    """Decides when an owner leaves. partitions: all that it may own, in the order of its looks.

    numbers: which there are by now. outages: those that the process knows of. looks: whether it
    leaves for others; if not, only a partition that there is no more. has_moved: whether its own
    one is elsewhere than where it owns it.
    """

    def __init__(
        self,
        partitions: Sequence[int],
        clock: Callable[[], float],
        numbers: Callable[[], Sequence[int]],
        *,
        outages: Outages,
        looks: bool = True,
        has_moved: Callable[[], bool] = lambda: False,
    ) -> None:
        self._partitions, self._clock, self._numbers = list(partitions), clock, numbers
        self._outages = outages
        self._again_s: dict[object, float] = {}  # when to ask a server that was away
        self._looks, self._has_moved = looks, has_moved
        self.retired = False
        self._next_s = clock() + IDLE_S
        self.wanted: list[int] = []

    def wait_s(self, seconds: float) -> float:
        """Return how long the owner may sleep, of these seconds."""
        return max(0.0, min(seconds, self._next_s - self._clock()))

    def is_idle(self, core: Core) -> bool:
        """Return whether it is time to look around.

        One whose workers are not ready yet is not idle: it cannot claim, and elsewhere it would
        have to start others.
        """
        now_s = self._clock()
        starts = core.state.slots <= 0
        if starts or core.claimed or core.in_flight.has_unrecorded or core.tell.busy:
            self._next_s = now_s + IDLE_S
            return False
        return now_s >= self._next_s

    def look(self, core: Core) -> Steps[bool]:
        """Return whether to leave: for `wanted`, partitions in the order of their need.

        Or, if its own one is retired, to stand by.
        """
        self._next_s = self._clock() + LOOK_S
        numbers = self._numbers()
        keep_up(self._partitions, numbers)
        self.retired = partition_at(core.ownership.partition) not in numbers or self._has_moved()
        if self.retired or not self._looks:
            return self.retired
        least = 2 if core.state.gatekeeper.gates.known else 1
        found: list[tuple[int, int]] = []
        for partition in self._turn():
            server, asked_s = self._outages.server_of(partition), self._clock()
            if partition == core.ownership.partition or asked_s < self._again_s.get(server, 0.0):
                continue
            try:
                work = yield from self._vacancy(partition)
            except UnavailableError:
                now_s = self._clock()
                self._again_s[server] = now_s + max(_AWAY_S, (now_s - asked_s) / _AWAY_SHARE)
                break
            if work >= least:
                found.append((-work, partition))
        self.wanted = [partition for _, partition in sorted(found)]
        return bool(self.wanted)

    @property
    def leaves(self) -> bool:
        """Return whether it left for others, or to stand by."""
        return self.retired or bool(self.wanted)

    def order(self) -> list[int]:
        """Return all partitions, those first for which it left."""
        return self.wanted + [p for p in self._partitions if p not in self.wanted]

    def _vacancy(self, partition: int) -> Steps[int]:
        verb = own.vacancy()
        try:
            [reply] = yield from self._outages.call(partition, [verb])
            found = verb.read(reply)
        except UnavailableError:
            raise
        except QueuePoolError:
            return 0  # there is no such partition any more, for example
        if not found.work:
            self._outages.forget(partition)
            return 0
        if self._outages.wait_s(partition) > 0:
            return 0
        if found.epoch is None or self._outages.may_replace(partition, found.epoch, runs=False):
            return found.work
        self._partitions.remove(partition)
        self._partitions.insert(0, partition)
        return 0

    def _turn(self) -> list[int]:
        turn = self._partitions[:_A_LOOK]
        self._partitions = self._partitions[_A_LOOK:] + turn
        return turn


def keep_up(partitions: list[int], numbers: Sequence[int]) -> None:
    """Let a list have these partitions, which there are by now: those that are new come first."""
    known, there = set(partitions), set(numbers)
    fresh = [n for n in numbers if n not in known]
    partitions[:] = fresh + [n for n in partitions if n in there]
