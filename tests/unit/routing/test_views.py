"""What a route record says: the partition of each slot, the server of each partition."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import ConfigurationError
from queuepool.models import RouteRecord
from queuepool.routing.ranges import read_slots, slots_text
from queuepool.routing.slots import SLOTS
from queuepool.routing.topology import Topology, build
from queuepool.routing.views import MOD, TABLE, View, read_table, table_text

URLS = {"main": "redis://:secret@a", "big": "redis://b"}
BY_MOD = tuple(slot % 4 for slot in range(SLOTS))


def record(version: int = 2, partitions: int = 4, **more: Any) -> RouteRecord:
    return RouteRecord(
        version=version, partitions=partitions, created_ms=1, **({"layout": MOD} | more)
    )


def on(topology: Topology) -> Mapping[str, int]:
    names = [topology.server_of(n) for n in range(topology.partitions)]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def test_without_a_record_the_configuration_says_where_what_is() -> None:
    topology = build(URLS, 4, "0-2=main,3=big")

    assert on(topology) == {"main": 3, "big": 1}
    assert [topology.view.partition_of(slot) for slot in range(SLOTS)] == list(BY_MOD)
    assert (topology.view.version, topology.view.record) == (1, None)


def test_a_newer_record_is_followed_and_an_older_one_is_not() -> None:
    topology = build({"main": "redis://a"}, 4, "")
    table = [9 if slot == 7 else part for slot, part in enumerate(BY_MOD)]
    moved = record(3, 10, layout=TABLE, slots=table_text(table), moving="8-9,100")

    topology.follow(moved)
    topology.follow(record(2, 5))
    topology.follow(dataclasses.replace(moved, partitions=77))

    view = topology.view
    assert (topology.partitions, view.version, view.record) == (10, 3, moved)
    assert [view.partition_of(slot) for slot in (6, 7, 8)] == [2, 9, 0]
    assert [view.version_for(slot) for slot in (7, 8, 9, 10, 100)] == [3, 0, 0, 3, 0]


def test_partitions_are_on_the_servers_that_the_record_names() -> None:
    topology = build(URLS, 4, "0-2=main,3=big")

    topology.follow(record(2, 6, servers="0=big,1-4=main,5=big"))

    assert on(topology) == {"big": 2, "main": 4}
    assert topology.system == "main", "what the system shares stays where it began"
    with pytest.raises(ConfigurationError, match="there is no partition 6: use 0 to 5"):
        topology.server_of(6)


def test_pools_of_one_configuration_follow_apart() -> None:
    topology = build(URLS, 4, "0-3=main")
    other = topology.apart()

    topology.follow(record(5, 4, servers="0-3=big"))

    assert (topology.server_of(0), other.server_of(0)) == ("big", "main")
    assert topology == other
    assert "secret" not in repr(topology)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"partitions": 0}, "it has 0 partitions"),
        ({"partitions": 4097}, "it has 4097 partitions"),
        ({"servers": "0-3=huge"}, "its placement names server 'huge', which QUEUEPOOL_SERVERS"),
        ({"servers": "0-2=main"}, "its placement omits partition 3"),
        ({"servers": "\x1b[1m"}, "is not FIRST-LAST=SERVER"),
        ({"partitions": 5}, "assign partitions to them"),
        ({"layout": TABLE}, "no table"),
        ({"layout": TABLE, "slots": "00g" * SLOTS}, "no table"),
        ({"layout": TABLE, "slots": "000" * (SLOTS - 1)}, "no table"),
        ({"layout": TABLE, "slots": "004" * SLOTS}, "its table names partition 4 of 4"),
        ({"moving": "4096"}, "'4096' is not a range of slots"),
        ({"moving": "1-"}, "'1-' is not a range"),
        ({"moving": "1,,2"}, "'' is not a range"),
    ],
)
def test_a_record_that_cannot_be_right_is_refused_and_the_last_one_kept(
    changes: dict[str, str], says: str
) -> None:
    topology = build(URLS, 4, "0-3=main")
    known = topology.view

    with pytest.raises(ConfigurationError, match=says) as caught:
        topology.follow(record(9, **({"partitions": 4} | changes)))  # type: ignore[arg-type]

    assert str(caught.value).startswith("version 9 of the route record cannot be followed: ")
    assert topology.view is known


@given(st.integers())
def test_a_table_reads_as_it_was_written(seed: int) -> None:
    chance = Random(seed)
    table = [chance.randrange(4096) for _ in range(SLOTS)]

    assert read_table(table_text(table), 4096) == tuple(table)


@given(st.frozensets(st.integers(0, SLOTS - 1)))
def test_slots_read_as_they_were_written(slots: frozenset[int]) -> None:
    assert read_slots(slots_text(slots)) == slots


def test_slots_side_by_side_are_one_range() -> None:
    assert slots_text({5, 6, 7, 9, 0}) == "0,5-7,9"
    assert read_slots("7-5") == frozenset()
    assert View(("m",)).moving == frozenset()
