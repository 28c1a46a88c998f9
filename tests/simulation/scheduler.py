"""One clock and one queue of events for all actors of a simulation. Nothing here is concurrent."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

Action = Callable[[], None]


@dataclass(order=True, slots=True)
class Event:
    """Something that happens at a time; dropped when it was cancelled."""

    at_s: float
    number: int
    action: Action | None = field(compare=False)

    def cancel(self) -> None:
        """Let it never happen."""
        self.action = None


class Scheduler:
    """Virtual time in seconds from 0, and what happens when. Equal times keep their order."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._events: list[Event] = []
        self._numbers = itertools.count()

    def clock(self) -> float:
        """Return the virtual time, as a process's monotonic clock."""
        return self.now_s

    def after(self, delay_s: float, action: Action) -> Event:
        """Do something later."""
        event = Event(self.now_s + max(0.0, delay_s), next(self._numbers), action)
        heapq.heappush(self._events, event)
        return event

    def step(self) -> bool:
        """Let the next event happen; returns whether there was one."""
        while self._events:
            event = heapq.heappop(self._events)
            if event.action is not None:
                self.now_s = event.at_s
                event.action()
                return True
        return False


class Process:
    """What every actor has: it can be killed, and it can stall, as a stopped process does.

    Whatever is due while it stalls happens when it goes on; whatever is due after its death, never.
    """

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler, self.name = scheduler, name
        self.dead = False
        self._stalled_until_s = 0.0

    @property
    def now_s(self) -> float:
        """Return the virtual time."""
        return self.scheduler.now_s

    @property
    def stalled(self) -> bool:
        """Return whether it stands still now."""
        return self.now_s < self._stalled_until_s

    def after(self, delay_s: float, action: Action) -> Event:
        """Do something later, if still alive, and not while stalled."""

        def act() -> None:
            if self.dead:
                return
            if self.stalled:
                event.action = None
                self.after(self._stalled_until_s - self.now_s, action)
                return
            action()

        event = self.scheduler.after(delay_s, act)
        return event

    def stall(self, seconds: float) -> None:
        """Stand still for a while."""
        self._stalled_until_s = max(self._stalled_until_s, self.now_s + seconds)

    def kill(self) -> None:
        """End at once."""
        self.dead = True
