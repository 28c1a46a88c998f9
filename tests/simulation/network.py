"""The way between actors and the partition: every call may come to grief on it.

    sent --executed--> replied       as it should be
      |      `--> reply lost         executed; the caller hears of a failure, soon or at its timeout
      |      `--> again, later       executed twice
      |--> dropped                   never executed
      `--> late                      executed after the caller gave up, and maybe after newer calls

Calls that arrive are executed one after the other, as a server does; but one that forgot some
scripts executes the verbs that need them after the others, when they are sent again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.servers import Reply
from queuepool.verbs import Verb, is_fenced
from tests.simulation.ledger import Ledger
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process, Scheduler

Calls = Sequence[tuple[bytes, Verb[Any]]]
Answer = list[Reply] | QueuePoolError
_STRAY_S = 2.5  # how long after its time a call may still be executed


class Network:
    """Carries calls to the ledger, with the faults of a scenario while they last."""

    def __init__(
        self, scheduler: Scheduler, ledger: Ledger, scenario: Scenario, rng: random.Random
    ) -> None:
        self.scheduler, self._ledger, self._scenario, self._random = (
            scheduler, ledger, scenario, rng,
        )  # fmt: skip
        self.quiet = False
        self._delivered = 0
        self._on_the_way: dict[int, tuple[Calls, list[Reply]]] = {}
        self.crash: Callable[[Process], None] = Process.kill

    def call(
        self,
        process: Process,
        calls: Calls,
        on_reply: Callable[[Answer], None],
        *,
        home: bool = False,
    ) -> None:
        """Send calls for a process; `on_reply` gets the replies or an error, if it lives.

        home: they go to the server of the homes of limits, which has outages of its own.
        """
        fate, timeout_s = self._fate(home=home), self._scenario.call_timeout_s
        there_s, back_s = self._latency_s(), self._latency_s()
        failure = UnavailableError(f"simulated: {fate}")
        after = self.scheduler.after
        if fate == "drop":
            self._note(process, calls, fate)
            process.after(self._random.choice((back_s, timeout_s)), lambda: on_reply(failure))
            return
        if fate == "late":
            self._note(process, calls, fate)
            late_s = timeout_s + self._random.random() * _STRAY_S
            after(late_s, lambda: self._stray(calls, twice=False))
            process.after(timeout_s, lambda: on_reply(failure))
            return

        def arrive() -> None:
            if self.down(home=home):  # it went down while the call was on its way
                process.after(self._random.choice((back_s, timeout_s)), lambda: on_reply(failure))
                return
            replies = self._execute(calls)
            if fate == "lose" or (fate == "double" and self._random.random() < 0.5):
                wait_s = self._random.choice((back_s, timeout_s))
                self.unheard(calls, replies)
                process.after(wait_s, lambda: on_reply(failure))
            else:
                self._deliver(process, back_s, calls, replies, on_reply)

        if fate != "ok":
            self._note(process, calls, fate)
        after(there_s, arrive)
        if fate == "double":
            again_s = there_s + self._random.random() * self._random.choice((0.01, _STRAY_S))
            after(again_s, lambda: self._stray(calls, twice=True))

    def settle(self) -> None:
        """Note the answers that no one lived to hear."""
        for calls, replies in self._on_the_way.values():
            self.unheard(calls, replies)

    def _deliver(
        self,
        process: Process,
        back_s: float,
        calls: Calls,
        replies: list[Reply],
        on_reply: Callable[[Answer], None],
    ) -> None:
        number = self._delivered = self._delivered + 1
        self._on_the_way[number] = calls, replies

        def arrive() -> None:
            del self._on_the_way[number]
            on_reply(replies)

        process.after(back_s, arrive)

    def run_now(self, process: Process, calls: Calls) -> list[Reply]:
        """Run calls at once, with the same faults, for callers that wait for each of their calls.

        Raises UnavailableError.
        """
        fate = "drop" if self.down() else self._fate()
        if fate != "ok":
            self._note(process, calls, fate)
        if fate in ("late", "double"):
            delay_s = self._random.random() * _STRAY_S
            self.scheduler.after(delay_s, lambda: self._stray(calls, twice=fate == "double"))
        if fate in ("drop", "late"):
            raise UnavailableError(f"simulated: {fate}")
        replies = self._execute(calls)
        if fate == "lose":
            raise UnavailableError("simulated: lose")
        return replies

    def answer(self, process: Process, calls: Calls, on_reply: Callable[[Answer], None]) -> None:
        """Execute calls that waited at the server, whether or not their sender still lives well."""
        failure = UnavailableError("simulated: the connection is gone")
        share = 0.0 if self.quiet else self._scenario.faults.lose
        lost = self.down() or (share > 0 and self._random.random() < share)
        if lost and (self.down() or self._random.random() < 0.5):
            process.after(self._latency_s(), lambda: on_reply(failure))
            return
        replies = self._execute(calls)
        if lost:
            self.unheard(calls, replies)
            process.after(self._latency_s(), lambda: on_reply(failure))
        else:
            self._deliver(process, self._latency_s(), calls, replies, on_reply)

    def down(self, *, home: bool = False) -> bool:
        """Return whether no one reaches the server now, or that of the homes of limits."""
        now, limits = self.scheduler.now_s, self._scenario.limits
        spells = () if self.quiet else self._scenario.faults.outages
        if home:
            spells = () if self.quiet or limits is None else limits.outages
        return any(begin <= now < begin + length for begin, length in spells)

    def _execute(self, calls: Calls) -> list[Reply]:
        forgotten: set[str] = set()
        share = 0.0 if self.quiet else self._scenario.faults.forget
        if share and self._random.random() < share:
            forgotten = {v.script for _, v in calls if self._random.random() < 0.5}
            self._ledger.journal.seen["forget"] += 1
        places = range(len(calls))
        order = sorted(places, key=lambda i: calls[i][1].script in forgotten)  # stable
        answers = dict(zip(order, self._ledger.run([calls[i] for i in order]), strict=True))
        return [answers[i] for i in places]

    def _fate(self, *, home: bool = False) -> str:
        if self.quiet:
            return "ok"
        if self.down(home=home):
            return "drop"
        draw, faults = self._random.random(), self._scenario.faults
        for name in ("drop", "lose", "double", "late"):
            draw -= getattr(faults, name)
            if draw < 0:
                return name
        return "ok"

    def _stray(self, calls: Calls, *, twice: bool) -> None:
        if not self.down():
            self.unheard(calls, self._ledger.run(calls, twice=twice))

    def unheard(self, calls: Calls, replies: Sequence[Reply]) -> None:
        """Note what was claimed or started by calls whose answer no one reads."""
        for (_, verb), reply in zip(calls, replies, strict=True):
            if is_fenced(reply):
                continue
            if verb.script == "claim":
                self._ledger.journal.unheard.update(verb.read(reply).ids)
            elif verb.script == "start":
                self._ledger.journal.unheard.update(a for a in verb.args if isinstance(a, bytes))

    def _latency_s(self) -> float:
        shortest, longest = self._scenario.latency_s
        if not self.quiet and not self._scenario.faults.none and self._random.random() < 0.02:
            longest = 0.45 * self._scenario.call_timeout_s
        return self._random.uniform(shortest, longest)

    def _note(self, process: Process, calls: Calls, fate: str) -> None:
        self._ledger.journal.seen[fate] += 1
        names = " ".join(verb.script for _, verb in calls)
        self._ledger.journal.note(self.scheduler.now_s, process.name, f"[{fate}] {names}")
