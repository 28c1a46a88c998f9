"""A whole consumer stands by, and takes a partition when it may."""

import threading
from time import monotonic

import pytest

from consumer.core import events
from consumer.core.effects import Call
from consumer.core.liveness import Liveness
from consumer.core.standby import Standby
from consumer.settings import ConsumerSettings
from queuepool import Registry
from queuepool.client.pool import QueuePool
from queuepool.errors import UnavailableError
from queuepool.models import RouteRecord
from queuepool.partitions.partition import OwnedPartition
from queuepool.routing.slots import home_of
from queuepool.servers import Reply
from queuepool.verbs.owner import verbs as own
from tests.contract.world import renew
from tests.unit.consumer.loop.whole import Flaky, Start, lapse, over
from tests.waiting import wait_until

pytestmark = pytest.mark.thorough


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


def test_an_idle_owner_that_saw_an_outage_replaces_no_living_one_right_after_it(
    registry: Registry, server: Flaky, start_on: Start
) -> None:
    pool = over({"memory": server}, ["memory", "memory"], registry)
    registry.task(name="t")(lambda: None)
    consumer = start_on(pool, partition="auto", lease_s=3)
    wait_until(lambda: consumer.consumer.partition is not None)
    other = pool.partition(1 - (consumer.consumer.partition or 0))
    other.acquire(lease_s=60, host="an owner that lives")
    key = next(key for key in map(str, range(99)) if home_of(key, 2) == other.number)
    pool.enqueue("t", partition_key=key)
    server.away = True
    wait_until(lambda: consumer.has(events.TurnFailed))
    lapse(pool, other.number)
    back_s = monotonic()
    server.away = False

    wait_until(lambda: other.observe().counters.get("done") == 1)

    assert monotonic() - back_s >= 3


def test_one_that_did_not_live_in_the_outage_replaces_no_living_owner_right_after_it(
    pool: QueuePool, start: Start
) -> None:
    living = pool.partition(0).acquire(lease_s=60, host="an owner that lives")
    assert isinstance(living, OwnedPartition)
    lapse(pool)  # in an outage
    consumer = start(lease_s=4)
    wait_until(lambda: consumer.has(events.StandingBy))

    renew(living)

    seen = len(consumer.reported)
    wait_until(lambda: len(consumer.reported) >= seen + 20)  # more than five looks a second
    assert not consumer.has(events.Owns)


def test_an_owner_that_does_not_renew_is_replaced_by_one_that_has_just_begun(
    pool: QueuePool, start: Start
) -> None:
    pool.partition(0).acquire(lease_s=60, host="an owner that is gone")
    lapse(pool)
    consumer = start(lease_s=4)

    wait_until(lambda: consumer.has(events.Owns))


def test_a_server_that_is_away_keeps_nobody_from_the_partitions_of_another(
    registry: Registry, start_on: Start
) -> None:
    away, there = Flaky(), Flaky()
    pool = over({"away": away, "there": there}, ["away", "there"], registry)
    for number in (0, 1):
        pool.partition(number).acquire(lease_s=60, host="an owner")
    away.away = True
    consumer = start_on(pool, candidates=[0, 1], partition="auto", lease_s=1)
    wait_until(lambda: consumer.has(events.TurnFailed) and consumer.has(events.StandingBy))

    lapse(pool, 1)

    wait_until(lambda: consumer.has(events.Owns))
    assert consumer.consumer.partition == 1


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
