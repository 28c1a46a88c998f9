"""Batches of a seed: who enqueues them, and whether I13 holds.

Each continuation starts once, with every result.

    open --continuation, delayed--> jobs --> seal      each call repeated until it is answered

Half of the seeds without extras, limits and another pool have some; crash points of batches are
in tests/integration/client. Their jobs fail, die, are
delivered again and are cancelled as all others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from queuepool.errors import QueuePoolError
from queuepool.models.flows import BatchState, BatchStatus, OnFailure
from queuepool.testing.clock import START_S
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.producer import verbs as produce
from tests.contract.world import enqueue_verb
from tests.simulation.journal import Journal
from tests.simulation.ledger import Ledger
from tests.simulation.network import Answer, Network
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process

_DEADLINE_S, _DAY_MS = 75.0, 86_400_000
_TOLD_S = 30.0  # within which an owner tells of an end, at the latest
_ENDS = {"done": "done", "dead": "dead", "crashed": "dead", "cancelled": "lost", "expired": "lost"}


class Batches(Process):
    """Applications that enqueue batches, and cancel some of their jobs."""

    def __init__(
        self, network: Network, ledger: Ledger, scenario: Scenario, *, alone: bool
    ) -> None:
        super().__init__(network.scheduler, "batches")
        self._network, self._ledger = network, ledger
        self._random = r = random.Random(scenario.seed ^ 0xBA7C)
        plain = alone and scenario.extras is None and scenario.limits is None and not scenario.pool
        plain = plain and scenario.finish_within_s > 2 * _DEADLINE_S  # a batch may wait until then
        self.jobs: dict[str, list[bytes]] = {}
        self.busy = 0
        for number in range(r.randint(1, 4) if plain and r.random() < 0.5 else 0):
            name = f"AA{number:012d}"
            self.jobs[name] = [b"CC%s~%d" % (name.encode(), n) for n in range(r.randint(1, 6))]
            self.busy += 1
            calls = self._calls(name, r.choice(("partial", "wait")))
            self.after(r.random() * scenario.spread_s, partial(self._next, calls))
            if r.random() < 0.3:
                self.after(1.0 + r.random() * 10.0, partial(self._cancel, name))

    def _calls(self, name: str, how: OnFailure) -> Iterator[Verb[Any]]:
        ids, group = self.jobs[name], f"batch-{name}".encode()
        wait_ms = round(_DEADLINE_S * 1000)
        yield flow.open_batch(
            name, name, on_failure=how, on_deadline="partial", deadline_ms=wait_ms, keep_ms=_DAY_MS
        )
        yield enqueue_verb([name], b"after", delay_ms=wait_ms + 3_600_000)
        yield enqueue_verb(ids, group)
        yield flow.seal_batch(name, len(ids))

    def _next(self, calls: Iterator[Verb[Any]]) -> None:
        verb = next(calls, None)
        if verb is None:
            self.busy -= 1
        else:
            self._ask(verb, calls)

    def _ask(self, verb: Verb[Any], calls: Iterator[Verb[Any]]) -> None:
        def on_reply(answer: Answer) -> None:
            if isinstance(answer, QueuePoolError):
                self.after(self._random.random(), lambda: self._ask(verb, calls))
            else:
                self._next(calls)

        self._network.call(self, [(self._ledger.key, verb)], on_reply)

    def _cancel(self, name: str) -> None:
        job_id = self._random.choice(self.jobs[name])
        self._ledger.journal.cancel_asked.add(job_id)
        self._ledger.journal.note(self.now_s, self.name, f"cancels {job_id!r}")
        call = (self._ledger.key, produce.cancel(job_id.decode()))
        self._network.call(self, [call], lambda _answer: None)

    def violations(self) -> Iterator[str]:
        """Return what is wrong with their batches, once everything has ended."""
        for name, ids in self.jobs.items():
            verb = flow.batch(name)
            status = verb.read(self._ledger.look(self._ledger.key, verb))
            yield from broken(name, status, ids, self._ledger.journal)


def broken(name: str, status: BatchStatus, ids: list[bytes], journal: Journal) -> Iterator[str]:
    """Return how a batch breaks I13. Pure."""
    if status.state is not BatchState.FIRED:
        yield f"I13: batch {name} never fired: {status}"
        return
    ends = {t.job_id: (t.state, t.at_s) for t in journal.terminals if t.job_id in ids}
    starts = [e.start_s for e in journal.executions if e.job_id == name.encode()]
    if status.by_deadline:
        journal.seen["batches by their deadline"] += 1
        due_s = status.deadline_ms / 1000 - START_S
        ended = len(ends) == len(ids) and all(at < due_s - _TOLD_S for _, at in ends.values())
        waits = status.on_failure == "wait" and status.dead
        if ended and not waits:
            yield f"I13: batch {name} waited for its deadline, though all its jobs had ended"
        return
    journal.seen["batches"] += 1
    if len(ends) < len(ids):
        yield f"I13: batch {name} fired while {set(ids) - ends.keys()} had not ended"
    if starts and min(starts) < max(at_s for _, at_s in ends.values()):
        yield f"I13: the continuation of {name} began before the end of the last job"
    counted = Counter(_ENDS[state] for state, _ in ends.values())
    told = {"done": status.done, "dead": status.dead, "lost": status.lost}
    if told != {end: counted[end] for end in told}:
        yield f"I13: batch {name} counts {told}, its jobs ended as {dict(counted)}"
