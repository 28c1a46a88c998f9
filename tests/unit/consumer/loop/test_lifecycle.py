"""A whole consumer in this process, over a partition in memory: what it owns it serves."""

import threading
from time import monotonic

import pytest

from consumer.core import events
from consumer.core.lifeline import GRACE_S
from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from queuepool import JobContext, Registry
from queuepool.client.pool import QueuePool
from queuepool.errors import FencedError, LocalError
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import MemoryPool
from tests.unit.consumer.loop.whole import Flaky, Running, Start, done, lapse
from tests.waiting import wait_until

pytestmark = pytest.mark.thorough


def test_it_runs_what_is_enqueued_and_leaves_no_thread(
    pool: QueuePool, registry: Registry, start: Start
) -> None:
    ran: list[int] = []

    @registry.task(name="t")
    def handler(n: int) -> None:
        ran.append(n)

    before = threading.active_count()
    consumer = start()
    pool.enqueue_many("t", ({"n": n} for n in range(500)), partition_key="g")
    wait_until(lambda: done(pool) == 500)
    consumer.stop()

    assert sorted(ran) == list(range(500))
    assert consumer.error is None
    assert consumer.has(events.Stopped)
    assert pool.partition(0).observe().owner is None
    wait_until(lambda: threading.active_count() <= before)


def test_an_owner_without_a_bell_gives_its_partition_back_and_tries_again(
    pool: QueuePool, server: Flaky, registry: Registry, start: Start
) -> None:
    ran = threading.Event()

    @registry.task(name="t")
    def handler() -> None:
        ran.set()

    server.no_bells = 2
    consumer = start(lease_s=30)
    pool.enqueue("t", partition_key="g")
    assert ran.wait(60)

    failed = [each for each in consumer.reported if isinstance(each, events.TurnFailed)]
    assert [type(each.error) for each in failed] == [LocalError, LocalError]
    assert all(0 < each.pause_s <= 5 for each in failed)
    consumer.stop()
    assert consumer.error is None


def test_while_no_bell_can_be_made_the_partition_is_free_and_the_process_looks_ill(
    pool: QueuePool, server: Flaky, start: Start
) -> None:
    server.no_bells = 10**9
    consumer = start(lease_s=30)
    wait_until(lambda: consumer.has(events.TurnFailed))
    early_s = monotonic()

    wait_until(lambda: sum(isinstance(e, events.TurnFailed) for e in consumer.reported) >= 4)
    wait_until(
        lambda: consumer.consumer.liveness.last_reply_s <= early_s
    )  # the same failure continues
    assert "too many open files" in consumer.consumer.liveness.why
    wait_until(lambda: pool.partition(0).observe().owner is None)

    consumer.stop()
    assert consumer.error is None
    assert not consumer.has(events.Owns)


def test_it_waits_out_an_outage_and_tells_when_its_lease_may_be_over(
    pool: QueuePool, server: Flaky, registry: Registry, start: Start
) -> None:
    began: list[int] = []
    gate = threading.Event()

    @registry.task(name="t")
    def handler(n: int) -> None:
        began.append(n)
        gate.wait(60)

    consumer = start(workers=1, lease_s=1)
    pool.enqueue("t", {"n": 0}, partition_key="g")
    wait_until(lambda: began == [0])
    server.away = True
    wait_until(lambda: consumer.has(events.LeaseAtRisk))
    pool.partition(0).server.away = False  # type: ignore[attr-defined]
    gate.set()
    wait_until(lambda: done(pool) == 1)

    assert consumer.error is None
    assert not consumer.has(events.RolledBack)


@pytest.mark.parametrize(("without", "stalls"), [("finish", True), ("claim", True), ("", False)])
def test_an_owner_that_renews_and_records_or_claims_nothing_is_seen_to_stall(
    pool: QueuePool, server: Flaky, registry: Registry, start: Start, without: str, stalls: bool
) -> None:
    began = threading.Event()

    @registry.task(name="t")
    def handler() -> None:
        began.set()

    consumer = start(lease_s=6, workers=1, poll_s=0.2)
    liveness = consumer.consumer.liveness
    wait_until(lambda: consumer.has(events.Owns))
    server.without = without
    pool.enqueue("t", partition_key="g")
    if without != "claim":
        assert began.wait(60)
    owner = pool.partition(0).observe().owner
    assert owner is not None
    beat_ms, began_s, replied_s = owner.heartbeat_ms, monotonic(), set[float]()
    until = began_s + 3.0
    while monotonic() < until:
        replied_s.add(liveness.last_reply_s)
        threading.Event().wait(0.02)

    owner = pool.partition(0).observe().owner
    server.without = ""
    wait_until(lambda: done(pool) == 1)
    assert owner is not None
    assert owner.heartbeat_ms > beat_ms
    assert owner.lease_ms > 0  # it is kept all the while
    if stalls:
        assert max(replied_s) < began_s + 0.5
    else:
        assert len(replied_s) > 1


def test_one_that_lost_its_partition_ends_and_tells_its_handlers(
    pool: QueuePool, registry: Registry, start: Start
) -> None:
    seen = threading.Event()
    began = threading.Event()

    @registry.task(name="t")
    def handler(ctx: JobContext) -> None:
        began.set()
        while not ctx.cancel_requested:
            threading.Event().wait(0.005)
        seen.set()

    pool.enqueue("t", partition_key="g")
    consumer = start()
    assert began.wait(60)

    def is_replaced() -> bool:
        lapse(pool)  # it may renew before the other one asks
        acquired = pool.partition(0).acquire(lease_s=60, host="successor")
        return isinstance(acquired, OwnedPartition)

    wait_until(is_replaced)
    consumer.ends()

    assert isinstance(consumer.error, FencedError)
    assert seen.wait(60)


def test_stop_before_run_ends_at_once(pool: QueuePool, registry: Registry) -> None:
    consumer = Consumer(pool, ConsumerSettings(), registry=registry)
    consumer.stop()
    consumer.run()
    assert pool.partition(0).observe().owner is None


def test_jobs_that_end_while_the_server_is_away_do_not_make_it_try_more_often(
    pool: QueuePool, registry: Registry, server: Flaky, start: Start
) -> None:
    jobs = 60
    gates = [threading.Event() for _ in range(jobs)]
    begun: list[int] = []
    ended: list[int] = []

    @registry.task(name="t")
    def handler(n: int) -> None:
        begun.append(n)
        gates[n].wait(60)
        ended.append(n)

    start(workers=jobs, lease_s=60)
    pool.enqueue_many("t", ({"n": n} for n in range(jobs)), partition_key="g")
    wait_until(lambda: len(begun) == jobs)
    server.away = True
    away_s = monotonic()
    for n, gate in enumerate(gates):
        gate.set()
        wait_until(lambda n=n: n in ended)  # type: ignore[misc]
        threading.Event().wait(0.01)  # each one rings by itself

    # For GRACE_S pauses of at least 60 ms, after which they double up to at least half a second.
    assert server.tries <= 7 + GRACE_S / 0.06 + (monotonic() - away_s) / 0.5
    server.away = False
    wait_until(lambda: done(pool) == jobs)


def test_an_owner_that_an_operator_drains_ends_its_jobs_and_leaves() -> None:
    registry, running, go = Registry(), threading.Event(), threading.Event()

    @registry.task
    def wait() -> None:
        running.set()
        assert go.wait(60)

    pool = MemoryPool(1, registry=registry)
    consumer = Running(pool, registry)
    job = pool.enqueue("wait", {}, partition_key="k").job_id
    assert running.wait(60)
    owner = pool.partition(0).observe().owner
    assert owner is not None

    assert pool.partition(0).drain(owner.epoch)
    wait_until(lambda: consumer.has(events.Draining), message="it drains")
    later = pool.enqueue("wait", {}, partition_key="k").job_id
    go.set()
    consumer.ends()

    assert consumer.error is None
    assert [e.partition for e in consumer.reported if isinstance(e, events.AskedToEnd)] == [0]
    assert (str(pool.status(job).state), str(pool.status(later).state)) == ("done", "ready")
    assert pool.partition(0).observe().owner is None
    successor = Running(pool, registry)
    wait_until(lambda: str(pool.status(later).state) == "done", message="another one runs it")
    assert not successor.has(events.AskedToEnd)
    successor.stop()
