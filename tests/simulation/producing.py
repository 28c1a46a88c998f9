"""A producer without network and clock: Producer lays jobs out, Delivery says what becomes of them.

It also cancels: single jobs, and one group in bounded steps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from queuepool.client.chunks import Chunk
from queuepool.client.delivery import Answer as Settled
from queuepool.client.delivery import Delivery
from queuepool.client.producer import Producer
from queuepool.client.results import EnqueueResults
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.models import EnqueueStatus, Tier
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Job
from queuepool.tasks.registry import Registry
from queuepool.verbs.producer import verbs as produce
from tests.simulation.ledger import Ledger
from tests.simulation.network import Answer, Network
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process


class Applications(Process):
    """Everyone who enqueues and cancels."""

    def __init__(
        self,
        network: Network,
        ledger: Ledger,
        scenario: Scenario,
        rng: random.Random,
        config: PoolConfig,
    ) -> None:
        super().__init__(network.scheduler, "producer")
        self._network, self._ledger, self._scenario = network, ledger, scenario
        self._random, self._config = rng, config
        self._producer = Producer(config, Registry())
        self.poison: set[bytes] = set()
        self.busy = 0
        self._numbers = iter(range(10**9))
        self._mine: list[bytes] = []
        sizes = _split(scenario.jobs, scenario.calls, rng)
        for size in sizes:
            self.busy += 1
            self.after(rng.random() * scenario.spread_s, self._bulk(size))
        for _ in range(scenario.cancels):
            self.after(0.05 + rng.random() * 15.0, self._cancel)
        if scenario.cancel_group:
            self.after(0.05 + rng.random() * 10.0, lambda: self._cancel_group(b"start"))

    def poisonous(self, job_id: bytes) -> bool:
        """Return whether every execution of this job kills its consumer."""
        return job_id in self.poison

    def _bulk(self, size: int) -> Callable[[], None]:
        def begin() -> None:
            delay_s = (
                self._random.random() * 5 if self._random.random() < self._scenario.delayed else 0
            )
            tier = self._random.choice(list(Tier))
            limits = self._limits()
            defaults = self._producer.defaults(
                "task",
                tier=tier,
                delay_s=delay_s,
                max_attempts=None,
                timeout_s=None,
                limit=limits,
                pool=self._config.keyspace.pool,
                **self._asks(),
            )
            number = self._random.randrange(self._scenario.groups)
            extras, group = self._scenario.extras, f"group-{number}"
            tenant = None if extras is None else extras.tenant_of(number)
            items = []
            for _ in range(size):
                number = next(self._numbers)
                items.append(Job({"n": number}, job_id=f"job-{number:03d}"))
                self._ledger.journal.limits_of[b"job-%03d" % number] = tuple(limits)
            chunks = self._producer.chunks(defaults, items, group, tenant=tenant)
            self._next(chunks, EnqueueResults(), (tier, group, delay_s, *limits))

        return begin

    def _limits(self) -> list[str]:
        """Draw the limits that the jobs of a call name."""
        limits, r = self._scenario.limits, self._random
        if limits is None or r.random() >= limits.share:
            return []
        names = [limit.name for limit in limits.code]
        return sorted(r.sample(names, r.randint(1, len(names))))

    def _asks(self) -> dict[str, Any]:
        """Draw what the jobs of a call ask for beyond being run."""
        extras, asks, r = self._scenario.extras, dict[str, Any](), self._random
        if extras is not None and r.random() < extras.unique:
            asks["unique"] = lambda payload: f"key-{payload['n'] % extras.keys}"
            asks["unique_until"] = r.choice(("end", "end", "start"))
            asks["on_conflict"] = r.choice(("skip", "replace", "debounce"))
        if extras is not None and r.random() < extras.expires:
            asks["expires_s"] = r.choice((0.3, 1.0, 4.0))
        return asks

    def _next(
        self, chunks: Iterator[Chunk], results: EnqueueResults, lane: tuple[object, ...]
    ) -> None:
        chunk = next(chunks, None)
        if chunk is None:
            self.busy -= 1
            return
        if self._random.random() < self._scenario.repeats:
            # The same ids once more: a producer that was killed, and did not know what was in.
            self.after(self._random.random() * 10, lambda: self._repeat(chunk))
        if lane[1] == "group-0" and self._scenario.cancel_group:
            self._ledger.journal.cancel_asked.update(chunk.ids)
        for job_id in chunk.ids:
            if not lane[2]:
                self._ledger.journal.lane_of[job_id] = lane
            if len(self.poison) < self._scenario.poison:
                self.poison.add(job_id)
        self._mine += chunk.ids
        delivery = Delivery(chunk, results, self._config, now_s=self.now_s, wait_when_full_s=0.0)
        self._attempt(chunk, delivery, lambda: self._settled(chunks, results, chunk, lane))

    def _attempt(self, chunk: Chunk, delivery: Delivery, settled: Callable[[], None]) -> None:
        verb, begun_s = chunk.verb(self._config), self.now_s

        def on_reply(answer: Answer) -> None:
            reply: Settled
            if isinstance(answer, QueuePoolError):
                chunk.mark_unanswered(begun_s)
                reply = answer
            else:
                reply = verb.read(answer[0])
            try:
                pause = delivery.pause_after(reply, self.now_s, self._random.random())
            except UnavailableError:
                pause = None
            if pause is None:
                settled()
            else:
                self.after(pause, lambda: self._attempt(chunk, delivery, settled))

        self._network.call(self, [(chunk.key, verb)], on_reply)

    def _settled(
        self,
        chunks: Iterator[Chunk],
        results: EnqueueResults,
        chunk: Chunk,
        lane: tuple[object, ...],
    ) -> None:
        journal, mine = self._ledger.journal, set(chunk.ids)
        for result in results:
            job_id = result.job_id.encode()
            if job_id not in mine:
                continue
            if result.status in (EnqueueStatus.ACCEPTED, EnqueueStatus.DUPLICATE):
                journal.accepted.add(job_id)
            elif result.status is EnqueueStatus.REJECTED:
                journal.rejected.add(job_id)
            elif result.status not in (EnqueueStatus.CONFLICT, EnqueueStatus.REPLACED):
                journal.unknown.add(job_id)
        journal.note(self.now_s, self.name, f"settled {len(chunk.ids)} jobs of {lane}")
        self._next(chunks, results, lane)

    def _repeat(self, chunk: Chunk) -> None:
        calls = [(chunk.key, chunk.verb(self._config))]
        self._network.call(self, calls, lambda _answer: None)

    def _cancel(self) -> None:
        if not self._mine:
            return
        job_id = self._random.choice(self._mine)
        self._ledger.journal.cancel_asked.add(job_id)
        verb = produce.cancel(job_id.decode())
        self._ledger.journal.note(self.now_s, self.name, f"cancels {job_id!r}")
        self._network.call(self, [(self._ledger.key, verb)], lambda _answer: None)

    def _cancel_group(self, cursor: bytes) -> None:
        self._ledger.journal.note(self.now_s, self.name, f"cancels group-0 from {cursor!r}")
        verb = produce.cancel_group(b"group-0", cursor)

        def on_reply(answer: Answer) -> None:
            if isinstance(answer, QueuePoolError):
                return
            following = verb.read(answer[0])[0]
            if following:
                self._cancel_group(following)

        self._network.call(self, [(self._ledger.key, verb)], on_reply)


def _split(total: int, parts: int, rng: random.Random) -> list[int]:
    sizes = [1] * min(parts, total)
    for _ in range(total - len(sizes)):
        sizes[rng.randrange(len(sizes))] += 1
    return sizes
