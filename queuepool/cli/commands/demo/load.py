"""What the demo enqueues: large bulk actions, one after the other, and small groups in between."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from queuepool.cli.commands.demo.ledger import Ledger, SmallGroup
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError

PARTITIONS = 4
BULK_MS = 100
SMALL_MS = 50
SMALL_ITEMS = 10
_SMALL_EVERY_S = 0.5
_JOIN_S = 30.0
_UNHURRIED_ITEMS = 50_000
# (partition, start in s, share of all items): partitions rise and fall at different times, and
# the last action is the second burst of a partition that has just begun to fall.
_ACTIONS = (
    (0, 0.0, 0.24), (1, 3.0, 0.24), (2, 6.0, 0.16),
    (3, 9.0, 0.10), (2, 14.0, 0.10), (3, 26.0, 0.16),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BulkAction:
    """One bulk action: its partition key, its number of jobs, and its start."""

    key: str
    items: int
    at_s: float


def plan_actions(pool: QueuePool, items: int) -> list[BulkAction]:
    """Return the bulk actions, `items` jobs in all, on partitions that are chosen by their keys."""
    sizes = [int(items * share) for _, _, share in _ACTIONS]
    sizes[0] += items - sum(sizes)
    pace = min(1.0, items / _UNHURRIED_ITEMS)  # a few items finish before the next ones come
    return [
        BulkAction(_key_for(pool, f"bulk-{number}", partition), size, at_s * pace)
        for number, ((partition, at_s, _), size) in enumerate(zip(_ACTIONS, sizes, strict=True))
        if size > 0
    ]


def _key_for(pool: QueuePool, name: str, partition: int) -> str:
    keys = (f"{name}-{i}" for i in itertools.count())
    return next(key for key in keys if pool.producer.route(key).partition == partition)


class Load:
    """Enqueues from two threads until stopped; a failure is kept in `problem`."""

    def __init__(self, pool: QueuePool, ledger: Ledger, actions: list[BulkAction]) -> None:
        self._pool, self._ledger, self.actions = pool, ledger, actions
        self._stopping = threading.Event()
        self.problem: str | None = None
        self._bulk = threading.Thread(target=self._guard, args=(self._enqueue_bulk,), name="bulk")
        self._small = threading.Thread(
            target=self._guard, args=(self._enqueue_small,), name="small"
        )

    def start(self) -> None:
        """Start enqueueing."""
        self._bulk.start()
        self._small.start()

    def stop(self) -> None:
        """Stop enqueueing; returns when both threads have ended. Idempotent."""
        self._stopping.set()
        for thread in (self._bulk, self._small):
            if thread.ident is not None:
                thread.join(_JOIN_S)

    @property
    def all_enqueued(self) -> bool:
        """Return whether every bulk action is in the queue."""
        return not self._bulk.is_alive()

    def bulk_left(self) -> int:
        """Return how many jobs of bulk actions have not ended."""
        return sum(self._pool.group(action.key).status().left for action in self.actions)

    def _guard(self, enqueue: Callable[[], None]) -> None:
        try:
            enqueue()
        except QueuePoolError as error:
            self.problem = str(error)

    def _enqueue_bulk(self) -> None:
        started = time.monotonic()
        for action in self.actions:
            if self._stopping.wait(max(0.0, started + action.at_s - time.monotonic())):
                return
            payloads = itertools.repeat({"ms": BULK_MS}, action.items)
            results = self._pool.enqueue_many("demo_bulk", payloads, partition_key=action.key)
            self._ledger.expect(result.job_id for result in results)

    def _enqueue_small(self) -> None:
        for name in self._ticks():
            at_ms = int(time.time() * 1000)
            payloads = [{"ms": SMALL_MS}] * SMALL_ITEMS
            results = self._pool.enqueue_many("demo_small", payloads, partition_key=name)
            self._ledger.expect_group(SmallGroup(at_ms, tuple(r.job_id for r in results)))

    def _ticks(self) -> Iterator[str]:
        number = 0
        while not self._stopping.wait(_SMALL_EVERY_S):
            number += 1
            yield f"small-{number}"
