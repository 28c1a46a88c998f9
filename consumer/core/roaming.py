"""Fewer consumers than partitions: an owner shares its time among those nobody else owns. Pure.

    owning --nothing to do at the moment--> looks --work without an owner--> leaves --> standing by
       ^   --busy for its quantum---------> looks --the same, for GRACE_S--> leaves     for what it
       `----- nothing found, or looked just now ------'                                 found first

Only consumers that may own any partition (`auto`) roam. One leaves for a partition that nobody owns
and that has jobs to run; or, if it has none at all, also for jobs that wait for their limits. What
it owned longest ago comes first, so everything that waits has its turn.

- How often it looks. After a look that found work elsewhere the next one comes SOON_S later, as a
  trickle over many partitions needs; each look that finds none doubles that, up to SHARE_S, or up
  to LOOK_S once it has been idle for IDLE_S. Looks take at most LOOK_SHARE of the time of one that
  has work.
- When a busy one leaves. It first lets its running jobs end, for as long as they take, and that
  time is lost. So its quantum is QUANTUM times what the last change took, or the age of the oldest
  job that runs. A partition that others left less than GRACE_S ago is left to a standby, or to its
  consumer that restarts; for one that it left itself it need not wait.
- A partition that had nothing to run after all is not taken again for IDLE_S.

Nobody leaves for the partition of an owner that may live although its lease is over, as after an
outage of its server (see outages); the next looks begin with what is watched. A look blocks the
owner: one call without a reply ends it, and that server is not asked again until the owner has had
twenty times as long for its own jobs.

An owner also leaves a place that its partition has left, for another server or since it is retired.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from consumer.core.outages import Outages
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.models.places import partition_at
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.effects import Steps
    from consumer.core.owner import Core

START_S = 0.5  # until the first look of a process: consumers that start together find their own
IDLE_S = 2.0
LOOK_S = 1.0
SOON_S = 0.05
SHARE_S = 5.0
LOOK_SHARE = 0.02
QUANTUM_S = 1.0  # at least
QUANTUM = 5
GRACE_S = 2.5  # a crashed or restarted consumer is replaced within 2 s
_AWAY_S = 5.0  # at least, until a server is asked again
_AWAY_SHARE = 0.05  # of the owner's time, at most, for calls to a server that is away
_A_LOOK = 16  # partitions, one call each; the next look goes on with the next ones


class Roaming:
    """Decides when an owner leaves, through all ownerships of a process.

    partitions: all that it may own, in the order of its looks. numbers: which there are by now.
    outages: those that the process knows of. looks: whether it leaves for others; if not, only a
    partition that there is no more. has_moved: whether its own one is elsewhere than where it owns
    it. wanted: the partitions for which it leaves; retired: it leaves as its own one has left.
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
        self.wanted: list[int] = []
        self._owned_s: dict[int, float] = {}  # until when we owned a partition
        self._vacant_s: dict[int, float] = {}  # since when it is known to have no owner
        self._empty_s: dict[int, float] = {}  # until when not to go to one that had nothing to run
        self._pause_s, self._change_s = SOON_S, 0.0
        self._since_s = self._busy_s = self._looked_s = clock()
        self._next_s, self._due_s, self._busy = clock() + START_S, 0.0, False

    def arrive(self, partition: int) -> None:
        """Note that the process owns this partition from now on."""
        now_s = self._clock()
        if self.wanted:
            self._change_s = now_s - self._looked_s
            self._pause_s, self._next_s = SOON_S, now_s
        self.retired, self.wanted = False, []
        self._vacant_s.pop(partition, None)
        self._since_s = self._busy_s = now_s

    def wait_s(self, seconds: float) -> float:
        """Return how long the owner may sleep, of these seconds."""
        return max(0.0, min(seconds, self._due_s - self._clock()))

    def is_due(self, core: Core, *, rests: bool) -> bool:
        """Return whether it is time to look around. rests: no turn is due.

        One whose workers are not ready yet does not look: it cannot claim, and elsewhere it would
        have to start others.
        """
        now_s = self._clock()
        if core.state.slots <= 0:
            self._since_s = self._busy_s = now_s
            self._due_s = now_s + IDLE_S
            return False
        in_flight = core.in_flight
        self._busy = bool(core.claimed) or in_flight.has_unrecorded or core.tell.busy
        if not (self._busy or rests):
            self._due_s = now_s  # that turn may bring work, or only renew
            return False
        if self._busy:
            self._busy_s = now_s
            self._due_s = max(self._next_s, self._since_s + QUANTUM_S)
        else:
            idle_s = max(self._busy_s + IDLE_S, self._looked_s + LOOK_S)
            self._due_s = min(self._next_s, idle_s)
        return now_s >= self._due_s

    def look(self, core: Core) -> Steps[bool]:
        """Return whether to leave: for `wanted`, partitions in the order of their need.

        Or, if its own one is retired, to stand by.
        """
        began_s, own_one = self._clock(), core.ownership.partition
        self._looked_s = self._next_s = began_s
        numbers = self._numbers()
        keep_up(self._partitions, numbers)
        left = partition_at(own_one) not in numbers or self._has_moved()
        self.retired = left and began_s - self._busy_s >= IDLE_S
        if left or not self._looks:
            self._next_s += LOOK_S
            return self.retired
        if self._busy and began_s < (ends_s := self._since_s + self._quantum_s(core, began_s)):
            self._next_s = min(ends_s, began_s + SHARE_S)  # that job may end soon
            return False
        found = yield from self._found(own_one, self._least(core))
        now_s = self._looked_s = self._clock()
        self._plan_next(now_s, now_s - began_s, found=bool(found))
        if self._busy:
            found = [one for one in found if now_s - self._vacant_s[one[1]] >= GRACE_S]
        found.sort(key=lambda one: (-one[0], self._owned_s.get(one[1], -inf), one[1]))
        self.wanted = [partition for _, partition in found]
        if self.wanted:
            self._owned_s[own_one], self._vacant_s[own_one] = now_s, now_s - GRACE_S
            if not self._busy and core.prefetch.job_s is None:
                self._empty_s[own_one] = now_s + IDLE_S
        return bool(self.wanted)

    @property
    def leaves(self) -> bool:
        """Return whether it left for others, or to stand by."""
        return self.retired or bool(self.wanted)

    def order(self) -> list[int]:
        """Return all partitions, those first for which it left."""
        return self.wanted + [p for p in self._partitions if p not in self.wanted]

    def _least(self, core: Core) -> int:
        return 2 if self._busy or core.state.gatekeeper.gates.known else 1

    def _quantum_s(self, core: Core, now_s: float) -> float:
        began_s = [job.started_s for job in core.claimed.values() if job.started_s]
        oldest_s = now_s - min(began_s, default=now_s)
        return max(QUANTUM_S, QUANTUM * max(oldest_s, self._change_s))

    def _plan_next(self, now_s: float, took_s: float, *, found: bool) -> None:
        if found:
            self._pause_s = GRACE_S if self._busy else SOON_S
        else:
            self._pause_s = min(2 * self._pause_s, SHARE_S)
        self._next_s = now_s + max(self._pause_s, took_s / LOOK_SHARE)

    def _found(self, own_one: int, least: int) -> Steps[list[tuple[int, int]]]:
        """Return (work, partition) of those that have enough work and no owner."""
        found: list[tuple[int, int]] = []
        for partition in self._turn():
            server, asked_s = self._outages.server_of(partition), self._clock()
            if partition == own_one or asked_s < self._again_s.get(server, 0.0):
                continue
            try:
                work = yield from self._vacancy(partition)
            except UnavailableError:
                now_s = self._clock()
                self._again_s[server] = now_s + max(_AWAY_S, (now_s - asked_s) / _AWAY_SHARE)
                break
            if work >= least and asked_s >= self._empty_s.get(partition, 0.0):
                found.append((work, partition))
        return found

    def _vacancy(self, partition: int) -> Steps[int]:
        verb = own.vacancy()
        try:
            [reply] = yield from self._outages.call(partition, [verb])
            found = verb.read(reply)
        except UnavailableError:
            raise
        except QueuePoolError:
            return 0  # there is no such partition any more, for example
        if found.work or found.epoch is None:
            self._vacant_s.setdefault(partition, self._clock())
        else:
            self._vacant_s.pop(partition, None)
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
