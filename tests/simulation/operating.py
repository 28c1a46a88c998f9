"""Operators: hold and release groups, the tenant and the partition; change caps and limits.

Each setting is absolute, so a call without an answer is made again, as the library does.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from queuepool.errors import QueuePoolError
from queuepool.routing.slots import home_of
from queuepool.verbs import Verb
from queuepool.verbs.limits import verbs as limits
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.simulation.extras import Change
from tests.simulation.ledger import Ledger
from tests.simulation.limiting import LimitChange
from tests.simulation.network import Answer, Network
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process

_AGAIN_S = 0.2
_STRAYS_S = 5.0  # after the last fault, no earlier call is executed any more


class Operators(Process):
    """Make the changes of a scenario; those of one target in their order."""

    def __init__(
        self,
        network: Network,
        ledger: Ledger,
        scenario: Scenario,
        rng: random.Random,
        *,
        producing: Callable[[], bool],
    ) -> None:
        super().__init__(network.scheduler, "operator")
        self._network, self._ledger, self._random = network, ledger, rng
        self._producing = producing
        self.busy = 0
        extras = scenario.extras
        if extras is None:
            return
        self._extras = extras
        for target in dict.fromkeys(change.target for change in extras.changes):
            self._begin(0.0, [change for change in extras.changes if change.target == target])
        if not scenario.faults.none:
            for change in extras.final():
                self._begin(scenario.quiet_s + _STRAYS_S, [change])

    def _begin(self, at_s: float, changes: list[Change]) -> None:
        self.busy += 1
        self.after(at_s, lambda: self._next(deque(changes)))

    def _next(self, changes: deque[Change]) -> None:
        if not changes:
            self.busy -= 1
            return
        wait_s = changes[0].at_s - self.now_s
        self.after(wait_s + self._random.random() * 0.01, lambda: self._make(changes))

    def _make(self, changes: deque[Change]) -> None:
        change = changes[0]
        verb = self._verb(change)

        def on_reply(answer: Answer) -> None:
            # A group that no job was enqueued to so far is unknown.
            if isinstance(answer, QueuePoolError) or (
                verb.read(answer[0]) is None and self._producing()
            ):
                self.after(_AGAIN_S, lambda: self._make(changes))
                return
            changes.popleft()
            self._next(changes)

        text = f"sets {change.target!r}: {change.settings}"
        self._ledger.journal.note(self.now_s, self.name, text)
        self._network.call(self, [(self._ledger.key, verb)], on_reply)

    def _verb(self, change: Change) -> Verb[Any]:
        if isinstance(change.target, str):
            return tenants.configure(change.target.encode(), **change.settings)
        group = None if change.target is None else self._extras.name_of(change.target)
        return produce.configure(group, **change.settings)


class LimitPeople(Process):
    """Change limits as a scenario says; what they set last holds at the end."""

    def __init__(
        self, network: Network, scenario: Scenario, rng: random.Random, keys: Sequence[bytes]
    ) -> None:
        super().__init__(network.scheduler, "people")
        self._network, self._random, self._keys = network, rng, keys
        self.busy = 0
        drawn = scenario.limits
        if drawn is None:
            return
        for name in dict.fromkeys(change.name for change in drawn.changes):
            self._begin(0.0, [change for change in drawn.changes if change.name == name])
        if not scenario.faults.none:
            for change in drawn.final():
                self._begin(scenario.quiet_s + _STRAYS_S, [change])

    def _begin(self, at_s: float, changes: list[LimitChange]) -> None:
        self.busy += 1
        self.after(at_s, lambda: self._next(deque(changes)))

    def _next(self, changes: deque[LimitChange]) -> None:
        if not changes:
            self.busy -= 1
            return
        self.after(changes[0].at_s - self.now_s, lambda: self._make(changes))

    def _make(self, changes: deque[LimitChange]) -> None:
        change = changes[0]

        def on_reply(answer: Answer) -> None:
            if isinstance(answer, QueuePoolError):
                self.after(_AGAIN_S, lambda: self._make(changes))
                return
            changes.popleft()
            self._next(changes)

        verb: Verb[Any] = (
            limits.set_limit(change.limit)
            if change.limit is not None
            else limits.pause_limit(change.name, on=bool(change.pause))
        )
        key = self._keys[home_of(change.name, len(self._keys))]
        self._network.call(self, [(key, verb)], on_reply, home=True)
