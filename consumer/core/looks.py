"""Which partitions have work and no owner: what an owner asks beside its turns. Pure.

    none --begin--> open --all answered, or LATE_S over--> end: what was found
      ^---------------<--work found by an answer that came late

A look asks A_LOOK partitions, one call each; the next one goes on with the next ones. The calls go
beside the turns (consumer.loop.remote_calls), so a server that is slow or away delays no owner of
another one. A partition is not asked again before it has answered, nor a server for AWAY_S after
one of its calls got no reply, or until that reply comes. An answer that comes late counts when it
comes, so that an owner whose server or machine is slow roams nevertheless.

The partition of an owner that may live although its lease is over, as after an outage of its
server, counts as owned (see outages); the next looks begin with what is watched.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

from consumer.core.remote_call import RemoteCall, ToPartition
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.outages import Outages
    from queuepool.servers import Reply
    from queuepool.verbs.owner.replies import Vacancy

LATE_S = 0.5
AWAY_S = 5.0
A_LOOK = 16


class _Asked(Struct):
    server: object
    sent_s: float
    look: int


class Looks:
    """Looks at partitions, in turns. partitions: all of them, in their order."""

    def __init__(
        self, partitions: Sequence[int], clock: Callable[[], float], outages: Outages
    ) -> None:
        self.partitions = list(partitions)
        self._clock, self._outages = clock, outages
        self._asked: dict[int, _Asked] = {}
        self._again_s: dict[object, float] = {}  # when to ask a server that was away
        self._vacant_s: dict[int, float] = {}  # since when it is known to have no owner
        self._found: dict[int, int] = {}
        self._number, self._began_s, self.open = 0, 0.0, False

    def begin(self, ownership: own.Ownership) -> list[RemoteCall]:
        """Return the calls of a new look, by the owner of this partition."""
        self._number += 1
        self._began_s, self._found, self.open = self._clock(), {}, True
        calls = []
        for partition in self._turn():
            server = self._outages.server_of(partition)
            away = self._began_s < self._again_s.get(server, 0.0)
            if partition == ownership.partition or partition in self._asked or away:
                continue
            self._asked[partition] = _Asked(server, self._began_s, self._number)
            to = ToPartition(partition)
            calls.append(RemoteCall(to, own.vacancy(), ownership.pool, looks=True))
        return calls

    @property
    def is_over(self) -> bool:
        """Return whether all have answered, or should have."""
        waits = any(asked.look == self._number for asked in self._asked.values())
        return not waits or self._clock() >= self.late_s

    @property
    def late_s(self) -> float:
        """Return when it is over, whoever has not answered."""
        return self._began_s + LATE_S

    def end(self) -> dict[int, int]:
        """Return what was found: partition -> work, as `vacancy` tells it."""
        self.open = False
        for asked in self._asked.values():
            self._again_s[asked.server] = self._clock() + AWAY_S
        found, self._found = self._found, {}
        return found

    def leave(self, partition: int) -> None:
        """Note that the process gives up this partition."""
        self._vacant_s[partition] = -inf

    def arrive(self, partition: int) -> None:
        """Note that the process owns this one from now on; what was not answered never will be."""
        self._vacant_s.pop(partition, None)
        self.end()
        self._asked.clear()

    def vacant_for_s(self, partition: int) -> float:
        """Return for how long it is known to have no owner; very long if it was this process."""
        now_s = self._clock()
        return now_s - self._vacant_s.get(partition, now_s)

    def on_answer(self, call: RemoteCall, reply: Reply) -> None:
        """Take an answer, or the error instead of one."""
        if not isinstance(call.to, ToPartition):
            return
        asked = self._asked.pop(partition := call.to.number, None)
        if asked is None:
            return
        self._outages.note(asked.server, asked.sent_s, [reply])
        self._again_s.pop(asked.server, None)
        if isinstance(reply, UnavailableError):
            self._again_s[asked.server] = self._clock() + AWAY_S
            return
        try:
            found: Vacancy = call.verb.read(reply)
        except QueuePoolError:
            return  # there is no such partition any more, for example
        work = self._work(partition, found)
        if work:
            self._found[partition] = work
            self.open = True

    def _work(self, partition: int, found: Vacancy) -> int:
        if found.work or found.epoch is None:
            self._vacant_s.setdefault(partition, self._clock())
        else:
            self._vacant_s.pop(partition, None)
        if not found.work:
            self._outages.forget(partition)
            return 0
        if found.epoch is None:  # its owner has left it
            return found.work
        if self._outages.wait_s(partition) > 0:
            return 0
        if self._outages.may_replace(partition, found.epoch, runs=False):
            return found.work
        if partition in self.partitions:
            self.partitions.remove(partition)
            self.partitions.insert(0, partition)
        return 0

    def _turn(self) -> list[int]:
        turn = self.partitions[:A_LOOK]
        self.partitions = self.partitions[A_LOOK:] + turn
        return turn
