"""Producers and consumers that go on while the tests of this folder move what they use."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from coordinator.loop.leadership import Leadership
from coordinator.loop.moving import Mover
from queuepool import QueuePool
from queuepool.process.keeping import RouteKeeper
from queuepool.tasks.registry import Registry
from tests.waiting import wait_until

KEYS = 40
MakePool = Callable[[], QueuePool]


@contextmanager
def leading(make_pool: MakePool) -> Iterator[Mover]:
    """A leader that does nothing but move slots."""
    pool = make_pool()
    pool.route.read()
    server, key = pool.system
    leadership = Leadership(server, key, lease_s=60)
    assert leadership.renew().leading
    mover = Mover(pool, leadership.leading_epoch, share=100, interval_s=0.02)
    mover.start()
    try:
        yield mover
    finally:
        mover.stop()
        leadership.resign()


class Work:
    """Consumers that note what they ran, and in which order."""

    def __init__(self) -> None:
        self.registry, self.lock = Registry(), threading.Lock()
        self.ran: defaultdict[str, list[int]] = defaultdict(list)
        self.count = 0

        @self.registry.task
        def note(key: str, n: int) -> None:
            with self.lock:
                self.ran[key].append(n)
                self.count += 1

    @contextmanager
    def consumers(self, make_pool: MakePool, count: int) -> Iterator[None]:
        with ExitStack() as running:
            for _ in range(count):
                running.enter_context(self.consumer(make_pool()))
            yield

    @contextmanager
    def consumer(self, pool: QueuePool, *, partition: str = "auto") -> Iterator[None]:
        settings = ConsumerSettings(partition=partition, workers=1, lease_s=60, drain_s=5)
        made = Consumer(pool, settings, registry=self.registry)
        keeper = RouteKeeper(pool, lambda _: None, interval_s=0.2)
        thread = threading.Thread(target=made.run)
        keeper.start()
        thread.start()
        try:
            yield
        finally:
            made.stop()
            keeper.stop()
            thread.join(30)
            assert not thread.is_alive()

    def has_run(self, count: int) -> bool:
        return self.count >= count


class Producer:
    """Enqueues jobs, some of each key after the others, until it is stopped."""

    def __init__(self, pools: list[QueuePool]) -> None:
        self._pools, self.sent = pools, 0
        self._stop, self._error = threading.Event(), list[BaseException]()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                numbers = range(self.sent, self.sent + KEYS)
                pool = self._pools[self.sent // KEYS % len(self._pools)]
                rows = ({"key": f"k{n % KEYS}", "n": n // KEYS} for n in numbers)
                found = pool.enqueue_many("note", rows, partition_key=lambda row: str(row["key"]))
                assert found.accepted == KEYS
                self.sent += KEYS
                self._stop.wait(0.01)
        except BaseException as error:
            self._error.append(error)

    def __enter__(self) -> Producer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._error, self._error

    def goes_on(self) -> None:
        target = self.sent + 3 * KEYS
        wait_until(lambda: self.sent >= target or self._error, 60)
