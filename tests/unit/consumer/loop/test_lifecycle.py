"""A whole consumer in this process, over a partition in memory."""

import threading
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from consumer.core import events
from consumer.core.effects import Call
from consumer.core.lifeline import GRACE_S
from consumer.core.liveness import Liveness
from consumer.core.standby import Standby
from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from queuepool import JobContext, Registry
from queuepool.client.pool import QueuePool
from queuepool.errors import FencedError, LocalError, UnavailableError
from queuepool.models import RouteRecord
from queuepool.partitions.partition import OwnedPartition
from queuepool.servers import Reply
from queuepool.testing import MemoryPool, MemoryServer
from queuepool.verbs.owner import verbs as own
from tests.waiting import wait_until

pytestmark = pytest.mark.thorough


class Running:
    """A consumer in a thread."""

    def __init__(self, pool: QueuePool, registry: Registry, **settings: Any) -> None:
        self.reported: list[object] = []
        self.error: BaseException | None = None
        values = {"workers": 4, "lease_s": 2, **settings}
        self.consumer = Consumer(
            pool, ConsumerSettings(**values), registry=registry, listen=self.reported.append
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.consumer.run()
        except BaseException as error:
            self.error = error

    def has(self, kind: type) -> bool:
        return any(isinstance(event, kind) for event in self.reported)

    def stop(self) -> None:
        self.consumer.stop()
        self.ends()

    def ends(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


class Flaky(MemoryServer):
    """A server whose answers are lost while `away` is set."""

    away, tries = False, 0
    no_bells = 0  # so many are refused
    without = ""  # what gets no answer, by its script

    def run(self, key: bytes, verbs: Any) -> list[Any]:
        if self.without and any(verb.script.startswith(self.without) for verb in verbs):
            if len(verbs) == 1:  # armed, maybe: its answer comes by the bell
                return [UnavailableError(f"no answer to {self.without}")]
            raise UnavailableError(f"no answer to {self.without}")
        if self.away:
            self.tries += 1
            raise UnavailableError("away")
        return super().run(key, verbs)

    def doorbell(self, key: bytes) -> Any:
        if self.no_bells:
            self.no_bells -= 1
            raise LocalError("memory", "this process has too many open files")
        return super().doorbell(key)


Start = Callable[..., Running]


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def server() -> Flaky:
    return Flaky()


@pytest.fixture
def pool(registry: Registry, server: Flaky) -> QueuePool:
    config = MemoryPool().config
    return QueuePool(config=config, registry=registry, servers={"memory": server})


@pytest.fixture
def start(pool: QueuePool, registry: Registry) -> Iterator[Start]:
    running: list[Running] = []

    def begin(**settings: Any) -> Running:
        running.append(Running(pool, registry, **settings))
        return running[-1]

    yield begin
    for each in running:
        each.stop()


def lapse(pool: QueuePool) -> None:
    """End the lease of the partition's owner."""
    data = pool.servers["memory"].data(pool.partition(0).key)  # type: ignore[attr-defined]
    data.owner.expires = 0


def done(pool: QueuePool) -> int:
    return pool.partition(0).observe().counters.get("done", 0)


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


def test_stop_ends_one_that_stands_by(pool: QueuePool, start: Start) -> None:
    pool.partition(0).acquire(lease_s=60, host="other")
    consumer = start()
    wait_until(lambda: consumer.has(events.StandingBy))
    consumer.stop()
    assert consumer.error is None


def test_whoever_saw_an_outage_waits_for_one_lease_before_it_takes_anything(
    pool: QueuePool, server: Flaky, start: Start
) -> None:
    pool.partition(0).acquire(lease_s=60, host="an owner that lives")
    server.away = True
    consumer = start(lease_s=1)
    wait_until(lambda: consumer.has(events.TurnFailed))
    lapse(pool)
    back_s = monotonic()
    server.away = False

    wait_until(lambda: consumer.has(events.Owns))

    assert monotonic() - back_s >= 1


def test_the_wait_after_an_outage_begins_when_it_is_over(
    pool: QueuePool, server: Flaky, start: Start
) -> None:
    pool.partition(0).acquire(lease_s=60, host="an owner that lives")
    consumer = start(lease_s=2)
    wait_until(lambda: consumer.has(events.StandingBy))
    server.away = True
    wait_until(lambda: consumer.has(events.TurnFailed))
    lapse(pool)
    threading.Event().wait(1.9)  # the outage itself: nearly as long as the wait that follows
    back_s = monotonic()
    server.away = False

    wait_until(lambda: consumer.has(events.Owns))

    assert monotonic() - back_s >= 2


def test_a_second_outage_within_the_wait_begins_it_anew(
    pool: QueuePool, server: Flaky, start: Start
) -> None:
    pool.partition(0).acquire(lease_s=60, host="an owner that lives")
    consumer = start(lease_s=3)
    wait_until(lambda: consumer.has(events.StandingBy))
    for _ in range(2):
        seen = server.tries
        server.away = True
        wait_until(lambda seen=seen: server.tries > seen)  # type: ignore[misc]
        lapse(pool)
        back_s = monotonic()
        server.away = False
        threading.Event().wait(1.0)  # well within the wait

    wait_until(lambda: consumer.has(events.Owns))

    assert monotonic() - back_s >= 3


def test_a_lost_answer_to_an_acquisition_is_found_out_by_asking_again(pool: QueuePool) -> None:
    now_s = monotonic()
    standby = Standby(
        [0],
        ConsumerSettings(lease_s=30),
        host="host:1",
        nonce="nonce",
        verify=lambda: None,
        emit=lambda _: None,
        clock=monotonic,
        draw=lambda: 0.5,
    )
    steps = standby.acquire(lambda: False, Liveness(now_s, now_s))
    partition = pool.partition(0)

    def perform(effect: object) -> list[Reply]:
        assert isinstance(effect, Call)
        return partition.server.run(partition.key, effect.verbs)

    perform(next(steps))
    steps.throw(UnavailableError("the answer was lost"))  # a pause begins
    with pytest.raises(StopIteration) as ended:
        steps.send(perform(next(steps)))

    assert isinstance(ended.value.value, own.Acquired)


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


def test_one_that_stands_by_takes_a_partition_that_is_new(pool: QueuePool, start: Start) -> None:
    first = start(lease_s=60)
    wait_until(lambda: first.has(events.Owns))
    second = start(lease_s=60)
    wait_until(lambda: second.has(events.StandingBy))

    pool.config.topology.follow(
        RouteRecord(version=2, partitions=2, layout="mod", created_ms=1)
    )  # as the keeper of the route does

    wait_until(lambda: second.has(events.Owns))
    assert (first.consumer.partition, second.consumer.partition) == (0, 1)


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
