"""A delivery of an outbox is enqueued once, whenever it is repeated."""

from __future__ import annotations

import pytest

from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.relay import Known, relay, relayed
from tests.contract import world as w
from tests.contract.world import World

Reply = produce.Settled | produce.Full | Known


def delivery(world: World, number: int, *ids: str, outbox: str = "orders", most: int = 99) -> Reply:
    verb = w.enqueue_verb(ids or ("a",), max_depth=most)
    return world.partition.run(relay(outbox, number, verb))


def test_a_repeated_delivery_adds_nothing_also_long_after_its_jobs_have_ended(
    world: World,
) -> None:
    assert delivery(world, 1, "a", "b") == b"11"
    owned = world.own()
    w.finish(owned, w.claim(owned, 2))
    world.advance(86_400)

    assert delivery(world, 1, "a", "b") == Known(1)
    assert delivery(world, 2, "a") == b"1"
    assert delivery(world, 1, "b") == Known(2)
    assert world.counters()["enqueued"] == 3


def test_a_partition_says_whether_a_delivery_was_enqueued_there(world: World) -> None:
    def is_known(number: int, outbox: str = "orders") -> bool:
        return world.partition.run(relayed(outbox, number))

    assert not is_known(0)
    delivery(world, 7, "a")

    assert [is_known(number) for number in (6, 7, 8)] == [True, True, False]
    assert not is_known(7, "other")
    w.enqueue(world, ["x", "y"])
    delivery(world, 8, "b", most=2)
    assert not is_known(8)  # there was no room
    world.advance(401 * 86_400)
    assert not is_known(7)


@pytest.mark.parametrize("planted", ["x", "nan", "1e300"])
def test_a_mark_that_is_no_number_tells_of_no_delivery(server_world: World, planted: str) -> None:
    server_world.client.set(server_world.partition.key + b":ob:orders", planted)

    assert not server_world.partition.run(relayed("orders", 1))


def test_outboxes_have_numbers_of_their_own(world: World) -> None:
    assert delivery(world, 7, "a") == b"1"

    assert delivery(world, 1, "b", outbox="other") == b"1"


def test_a_delivery_for_which_there_is_no_room_may_come_again(world: World) -> None:
    w.enqueue(world, ["x", "y"])

    assert isinstance(delivery(world, 1, most=2), produce.Full)
    assert delivery(world, 1) == b"1"


def test_an_id_that_waits_already_is_a_duplicate_and_the_delivery_is_known(world: World) -> None:
    w.enqueue(world, ["a"])

    assert delivery(world, 1, "a", "b") == b"01"
    assert delivery(world, 1, "a", "b") == Known(1)


def test_it_is_forgotten_after_a_long_time(world: World) -> None:
    assert delivery(world, 1, "a") == b"1"
    owned = world.own()
    w.finish(owned, w.claim(owned))
    world.advance(401 * 86_400)

    assert delivery(world, 1, "a") == b"1"


@pytest.mark.parametrize("planted", ["x", "", "1e400"])
def test_a_mark_that_is_no_number_stops_nothing(server_world: World, planted: str) -> None:
    mark = server_world.partition.key + b":ob:orders"
    server_world.client.set(mark, planted)

    assert delivery(server_world, 1) == b"1"
    assert delivery(server_world, 1) == Known(1)
