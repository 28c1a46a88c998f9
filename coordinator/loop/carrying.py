"""Carries groups and batches to another partition.

Several groups are carried side by side, a call of each in one round trip, since most have few jobs.
In memory are the pages of these groups: at most SIDE_BY_SIDE times what `export` returns at once.
Each call may be repeated, and nothing is kept here between two calls of a method.
"""

from __future__ import annotations

import time
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any

from coordinator.core.moves.copying import Call, Copied, Side, copying, copying_batch
from coordinator.loop.pacing import Pacer
from coordinator.loop.settling import Settler
from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.routing.moves import Move
from queuepool.telemetry.events import ignore
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.moves import batches as carry
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.moves.verbs import Walked

SIDE_BY_SIDE = 8
_LOOK_S = 0.02
_Steps = Generator[Call, Any, Copied]


class ChangedError(Exception):
    """Someone else changed the record: read it again."""


class BehindError(Exception):
    """A partition accepts only later versions than that of the record, which was lost.

    least: the first one that it accepts.
    """

    def __init__(self, least: int) -> None:
        self.least = least
        super().__init__(f"a partition accepts only version {least} and later ones")


class Carrier:
    """Makes the calls of a move. drain_s: how long to wait for jobs that run."""

    def __init__(
        self,
        pool: QueuePool,
        paced: Pacer,
        *,
        drain_s: float,
        rest: Callable[[float], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool, self._paced, self._drain_s = pool, paced, drain_s
        self._rest, self._clock = rest, clock
        self._told: dict[Partition, int] = {}  # the newest version of each place

    def drained(
        self, version: int, found: Mapping[Partition, Walked], *, closed: bool = False
    ) -> list[tuple[int, bytes]]:
        """Freeze groups; return those of which jobs still run after a while, with their slots.

        closed: whether these are, so that what does not run is to stay as it is.
        """
        self.tell(found, version)
        until_s = self._clock() + self._drain_s
        while True:
            running = [
                (walked.slots[group], group)
                for place, walked in found.items()
                for group in self.freeze(place, version, walked.slots, closed=closed)
            ]
            if not running or self._clock() > until_s:
                return running
            self._rest(_LOOK_S)

    def tell(
        self,
        places: Iterable[Partition],
        version: int,
        *,
        moves: bool | None = None,
        since: int | None = None,
        closing: Collection[int] = (),
    ) -> None:
        """Let places accept only calls of this version, and know whether slots move.

        Jobs of other slots than those that have closed may be added by earlier versions, too.
        since: from which one on none has closed; None: from this one, as far as is known here.
        closing: slots that these places lose from now on. Raises BehindError.
        """
        for place in places:
            told = self._told.get(place, 0)
            verb = lead.turn_away(version, moves=moves, told=told, since=since, closing=closing)
            self._turn_away(place, verb, version)
            self._told[place] = version

    def tell_all(
        self, places: Iterable[Partition], version: int, *, moves: bool | None = None
    ) -> None:
        """Let places accept only calls of this version, for whatever slots. Raises BehindError."""
        for place in places:
            self._turn_away(place, lead.turn_away(version, moves=moves), version)

    def _turn_away(self, place: Partition, verb: Verb[int], version: int) -> None:
        if (least := self._paced(place.run, verb)) > version:
            raise BehindError(least)

    def forget(self) -> None:
        """Assume nothing of what places were told: another process may have led meanwhile."""
        self._told.clear()

    def settle(self, move: Move) -> None:
        """Let the places that jobs go to know what the ones there are know."""
        Settler(self._pool, self._paced).settle(move)

    def clear(self, places: Iterable[Partition]) -> None:
        """Let places that are no more know nothing that they would not know if they were new."""
        Settler(self._pool, self._paced).clear(places)

    def freeze(
        self, place: Partition, version: int, groups: Mapping[bytes, int], *, closed: bool
    ) -> list[bytes]:
        """Let no job of groups start; return those of which some run."""
        names, running = list(groups), list[bytes]()
        for i in range(0, len(names), move.MAX_GROUPS):
            page = {name: groups[name] for name in names[i : i + move.MAX_GROUPS]}
            counts = self._paced(place.run, move.freeze(version, page, closed=closed))
            running += [name for name, n in zip(page, counts, strict=True) if n > 0]
        return running

    def thaw(self, places: Iterable[Partition], version: int) -> None:
        """Let everything start that is frozen."""
        for place in places:
            while self._paced(place.run, move.thaw(version)):
                pass

    def carry(
        self,
        source: Partition,
        dest: int,
        version: int,
        found: Walked,
        copy: Callable[[int, bytes, Sequence[bytes]], _Steps] = copying,
        *,
        moved: Callable[[int], object] = ignore,
    ) -> list[bytes]:
        """Carry groups, and then batches, to the same pool of another partition.

        Returns the groups that are not all there. moved: told how many jobs are there. No batch is
        concluded meanwhile, since that would move its continuation.
        """
        if not found.slots and not found.batches:
            return []
        Settler(self._pool, self._paced).settle_pool(source, dest)
        sides = {Side.A: source, Side.B: self._pool.partition(dest, source.pool)}
        names = list(found.batches)
        for i in range(0, len(names), move.MAX_GROUPS):
            self._paced(source.run, carry.freeze_batches(version, names[i : i + move.MAX_GROUPS]))
        groups = ((name, copy(version, name, found.dead.get(name, ()))) for name in found.slots)
        ended = self._drive(sides, groups, moved)
        self._drive(sides, ((name, copying_batch(version, name)) for name in names), moved)
        return [name for name, copied in ended if not copied.done]

    def _drive(
        self,
        sides: dict[Side, Partition],
        all_steps: Iterator[tuple[Any, _Steps]],
        moved: Callable[[int], object],
    ) -> list[tuple[Any, Copied]]:
        """Make the calls of all, some side by side; return what they have returned."""
        active: dict[Any, tuple[_Steps, list[Call]]] = {}
        ended: list[tuple[Any, Copied]] = []
        more = True
        while more or active:
            while more and len(active) < SIDE_BY_SIDE:
                name, steps = next(all_steps, (None, None))
                more = steps is not None
                if steps is not None:
                    active[name] = steps, _calls(steps)
            for name, copied in self._step(sides, active, moved):
                del active[name]
                ended.append((name, copied))
        return ended

    def _step(
        self,
        sides: dict[Side, Partition],
        active: dict[Any, tuple[_Steps, list[Call]]],
        moved: Callable[[int], object],
    ) -> list[tuple[Any, Copied]]:
        """Make the calls of each; return those that have ended."""
        ended = []
        for side, place in sides.items():
            now = [(name, call) for name, (_, calls) in active.items() for call in calls]
            now = [(name, call) for name, call in now if call.side is side]
            calls = [(place.key, call.verb) for _, call in now]
            replies: Sequence[Any] = self._paced(place.server.run_many, calls) if calls else ()
            for (name, call), reply in zip(now, replies, strict=True):
                steps, result = active[name][0], call.verb.read(reply)
                if isinstance(result, move.Adopted):
                    moved(len(result.here))
                if not call.awaited:
                    continue
                try:
                    active[name] = steps, _calls(steps, result)
                except StopIteration as end:
                    ended.append((name, end.value))
        return ended


def _calls(steps: _Steps, result: Any = None) -> list[Call]:
    """Return the calls that can be made now, in one round trip. Raises StopIteration."""
    calls = [steps.send(result)]
    while not calls[-1].awaited:
        calls.append(next(steps))
    return calls
