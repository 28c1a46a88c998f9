"""Where slots were lately: places by numbers of their own, each on the server that it was on."""

from __future__ import annotations

import pytest

from coordinator.core.moves.recent import Recent
from queuepool import ConfigurationError
from queuepool.models.places import FORMER_PLACE, PLACES
from queuepool.routing.former import KEPT_S, read_former
from queuepool.routing.topology import build
from tests.unit.routing.test_views import record

SERVERS = {"main": "redis://a", "big": "redis://b"}


def test_a_partition_has_a_former_place_on_each_server_where_it_was() -> None:
    topology = build(SERVERS, 4, "0-3=main")
    topology.follow(record(2, former="3@main=0-2;3@big=2,9;3@main=7;11@big=5"))

    first, second = FORMER_PLACE + 3, FORMER_PLACE + PLACES + 3
    former = topology.view.former
    assert [former.places_of(slot) for slot in (0, 2, 7, 9, 5, 8)] == [
        [first], [first, second], [first], [second], [FORMER_PLACE + 11], [],
    ]  # fmt: skip
    assert [topology.server_of(place) for place in (first, second)] == ["main", "big"]
    assert not build(SERVERS, 4, "0-3=main").view.former


def test_a_server_that_is_not_known_here_cannot_be_asked() -> None:
    assert not read_former("3@gone=0-2", SERVERS)


@pytest.mark.parametrize("text", ["3@main", "3@main=a", "main=0", "3@main=4096", "3@main=0;;"])
def test_damaged_ones_are_told(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a"):
        read_former(text, SERVERS)


def test_a_place_that_slots_leave_again_counts_from_then() -> None:
    recent = Recent()
    some = frozenset({1})
    first = recent.with_left("", 0.0, partition=3, server="main", slots=some)
    other = recent.with_left(first, 60.0, partition=5, server="main", slots=some)
    again = recent.with_left(other, 100.0, partition=3, server="main", slots=some)

    assert first == "3@main=1"
    assert recent.still(again, 60 + KEPT_S) == "3@main=1"
    assert recent.still(again, 100 + KEPT_S) == ""
