"""Fewer consumers than partitions: an owner shares its time among those nobody else owns. Pure.

    owning --nothing to do at the moment--> looks --work without an owner--> leaves --> standing by
       ^   --busy for its quantum---------> looks --the same, for GRACE_S--> leaves     for what it
       `----- nothing found, or looked just now ------'                                 found first

Only consumers that may own any partition (`auto`) roam. One leaves for a partition that nobody owns
and that has jobs to run; or, if it has none at all, also for jobs that wait for their limits. What
it owned longest ago comes first, so everything that waits has its turn.

- How often it looks (see looks). After a look that found work elsewhere the next one comes SOON_S
  later, as a trickle over many partitions needs; each look that finds none doubles that, up to
  SHARE_S, or up to LOOK_S once it has been idle for IDLE_S. Where workers take long to start, it
  stays for at least twice as long.
- When a busy one leaves. It first lets its running jobs end, for as long as they take, and that
  time is lost. So its quantum is QUANTUM times what the last change took, or the age of the oldest
  job that runs. A partition that others left less than GRACE_S ago is left to a standby, or to its
  consumer that restarts. An idle one waits for FEW_S to MOST_S, at random: a standby comes first,
  and not all that are idle come for one partition. For one that it left itself nobody waits.
- A partition that had nothing to run after all is not taken again for IDLE_S.

An owner also leaves a place that its partition has left, for another server or since it is retired,
once it has been idle there for IDLE_S.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from consumer.core.looks import Looks
from queuepool.models.places import partition_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.outages import Outages
    from consumer.core.owner import Core
    from consumer.core.remote_call import RemoteCall
    from queuepool.servers import Reply

IDLE_S = 2.0
LOOK_S = 1.0
SOON_S = 0.05
SHARE_S = 5.0
QUANTUM_S = 1.0  # at least
QUANTUM = 5
GRACE_S = 2.5  # a crashed or restarted consumer is replaced within 2 s
FEW_S, MOST_S = 0.3, 0.8  # standbys look every 0.3 s


class Roaming:
    """Decides when an owner leaves, through all ownerships of a process.

    partitions: all that it may own, in the order of its looks. numbers: which there are by now.
    outages: those that the process knows of. looks: whether it leaves for others; if not, only a
    partition that there is no more. has_moved: whether its own one is elsewhere than where it owns
    it. draw: random numbers from 0 to 1. wanted: the partitions for which it leaves; retired: it
    leaves as its own one has left.
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
        draw: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self._looks = Looks(partitions, clock, outages)
        self._clock, self._numbers = clock, numbers
        self._goes, self._has_moved, self._draw = looks, has_moved, draw
        self.retired = False
        self.wanted: list[int] = []
        self._owned_s: dict[int, float] = {}  # until when we owned a partition
        self._empty_s: dict[int, float] = {}  # until when not to go to one that had nothing to run
        self._pause_s, self._change_s = SOON_S, 0.0
        self._arrived_s = self._since_s = self._busy_s = self._looked_s = clock()
        self._next_s, self._due_s, self._busy = clock() + SOON_S, 0.0, False

    def arrive(self, partition: int) -> None:
        """Note that the process owns this partition from now on."""
        now_s = self._clock()
        if self.wanted:
            self._change_s = now_s - self._looked_s
            self._pause_s, self._next_s = SOON_S, now_s
        self.retired, self.wanted = False, []
        self._looks.arrive(partition)
        self._arrived_s = self._since_s = self._busy_s = now_s

    def wait_s(self, seconds: float) -> float:
        """Return how long the owner may sleep, of these seconds."""
        return max(0.0, min(seconds, self._due_s - self._clock()))

    def step(self, core: Core, *, rests: bool) -> list[RemoteCall]:
        """Decide whether to leave (see `leaves`), or return the calls of a look that begins now.

        rests: no turn is due. One whose workers are not ready yet stays: it cannot claim, and
        elsewhere it would have to start others.
        """
        now_s, in_flight = self._clock(), core.in_flight
        if core.state.slots <= 0:
            self._since_s = self._busy_s = now_s
            self._due_s = now_s + IDLE_S
            return []
        self._busy = bool(core.claimed) or in_flight.has_unrecorded or core.tell.busy
        if self._busy:
            self._busy_s = now_s
        elif not rests:
            self._due_s = now_s  # that turn may bring work, or only renew
            return []
        if self._looks.open:
            self._due_s = self._looks.late_s
            if self._looks.is_over:
                self._conclude(core, now_s)
                self._due_s = self._next_due_s()
            return []
        self._due_s = self._next_due_s()
        return self._begin(core, now_s) if now_s >= self._due_s else []

    def on_answer(self, call: RemoteCall, reply: Reply) -> None:
        """Take the answer to a call of a look."""
        self._looks.on_answer(call, reply)

    @property
    def leaves(self) -> bool:
        """Return whether it leaves for others, or to stand by."""
        return self.retired or bool(self.wanted)

    def order(self) -> list[int]:
        """Return all partitions, those first for which it left."""
        return self.wanted + [p for p in self._looks.partitions if p not in self.wanted]

    def _next_due_s(self) -> float:
        if self._busy:
            return max(self._next_s, self._since_s + QUANTUM_S)
        starting_s = self._since_s - self._arrived_s
        idle_s = max(self._busy_s + IDLE_S, self._looked_s + LOOK_S)
        return max(min(self._next_s, idle_s), self._since_s + 2 * starting_s)

    def _begin(self, core: Core, now_s: float) -> list[RemoteCall]:
        self._looked_s = now_s
        numbers = self._numbers()
        keep_up(self._looks.partitions, numbers)
        left = partition_at(core.ownership.partition) not in numbers or self._has_moved()
        self.retired = left and now_s - self._busy_s >= IDLE_S
        if left or not self._goes:
            self._next_s = self._due_s = now_s + LOOK_S
            return []
        if self._busy and now_s < (ends_s := self._since_s + self._quantum_s(core, now_s)):
            self._next_s = self._due_s = min(ends_s, now_s + SHARE_S)  # that job may end soon
            return []
        self._due_s = now_s  # so that a look without calls is concluded
        return self._looks.begin(core.ownership)

    def _conclude(self, core: Core, now_s: float) -> None:
        least = 2 if self._busy or core.state.gatekeeper.gates.known else 1
        found = {
            partition: work
            for partition, work in self._looks.end().items()
            if work >= least and now_s >= self._empty_s.get(partition, 0.0)
        }
        self._plan_next(now_s, found=bool(found))
        least_s = GRACE_S if self._busy else FEW_S + (MOST_S - FEW_S) * self._draw()
        ripe = [p for p in found if self._looks.vacant_for_s(p) >= least_s]
        ripe.sort(key=lambda p: (-found[p], self._owned_s.get(p, -inf), p))
        self.wanted = ripe
        if ripe:
            own_one = core.ownership.partition
            self._owned_s[own_one] = self._looked_s = now_s
            self._looks.leave(own_one)
            if not self._busy and core.prefetch.job_s is None:
                self._empty_s[own_one] = now_s + IDLE_S

    def _quantum_s(self, core: Core, now_s: float) -> float:
        began_s = [job.started_s for job in core.claimed.values() if job.started_s]
        oldest_s = now_s - min(began_s, default=now_s)
        return max(QUANTUM_S, QUANTUM * max(oldest_s, self._change_s))

    def _plan_next(self, now_s: float, *, found: bool) -> None:
        if found:
            self._pause_s = GRACE_S if self._busy else SOON_S
        else:
            self._pause_s = min(2 * self._pause_s, SHARE_S)
        self._next_s = now_s + self._pause_s


def keep_up(partitions: list[int], numbers: Sequence[int]) -> None:
    """Let a list have these partitions, which there are by now: those that are new come first."""
    known, there = set(partitions), set(numbers)
    fresh = [n for n in numbers if n not in known]
    partitions[:] = fresh + [n for n in partitions if n in there]
