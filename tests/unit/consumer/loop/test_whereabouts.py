"""Homes of limits know each place of a partition by a name of its own, also while it moves.

Partition 3 moves from server main to big, and perhaps from there to a third one. Each place may
have an owner while it does; its permits end with its ownership, neither later nor sooner.
"""

from __future__ import annotations

from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from consumer.loop.whereabouts import Whereabouts, askers_elsewhere
from queuepool.models import Limit
from queuepool.models.places import LEGACY, new_place
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.partitions.route import Verification
from queuepool.routing.former import Former
from queuepool.routing.views import View
from queuepool.testing import MemoryServer
from queuepool.verbs.limits import verbs as limit
from queuepool.verbs.owner.replies import asker_at

PLACEMENT = ("main",) * 8
LIMIT = Limit("mail", concurrency=5)
FORMER = Former({32768 + 3: "main", 32768 + 4: "third"}, {32768 + 3: frozenset({3})})


class Homes:
    """One home of limits, and the servers of partition 3."""

    def __init__(self) -> None:
        self.servers = {name: MemoryServer() for name in ("main", "big", "third")}
        self.home = Partition(0, b"qp:{q:0}", self.servers["main"], at="main")
        self.home.run(limit.set_limit(LIMIT))
        self.serial = self.newest = 0

    def owner(self, number: int, at: str) -> OwnedPartition:
        """Return the next owner of a place of partition 3, in place of one that has ended."""
        place = Partition(number, b"qp:{q:3}", self.servers[at], at=at)
        while True:
            owned = place.acquire(lease_s=0.001)
            if isinstance(owned, OwnedPartition) and owned.epoch > self.newest:
                self.newest = owned.epoch  # a ms later than those before it, at other places too
                return owned

    def ask(self, owned: OwnedPartition, held: int, wanted: int) -> int:
        """Return how many jobs may run at once."""
        self.serial += 1
        verb = limit.ask(
            owned.ownership, "mail", tokens=0, held=held, wanted=wanted, serial=self.serial
        )
        return self.home.run(verb).permits

    def end(self, owned: OwnedPartition, view: View) -> None:
        """End the permits of earlier owners, as a successor does."""
        mine = owned.ownership
        others = askers_elsewhere(view, mine.partition, mine.pool, mine.server)
        for asker in (mine.asker, *others):
            self.home.run(limit.end_permits(asker, owned.epoch))


@pytest.fixture
def homes() -> Homes:
    return Homes()


def during(at: str, to: str) -> View:
    """Return the route while partition 3 moves."""
    return View((*PLACEMENT[:3], at, *PLACEMENT[4:]), 7, leaving={3: to}, firsts={3: "main"})


def after(*servers: str) -> View:
    """Return the route after partition 3 moved along these servers."""
    return View((*PLACEMENT[:3], servers[-1], *PLACEMENT[4:]), 8, firsts={3: servers[0]})


def test_a_successor_ends_the_permits_of_the_first_owner_at_the_new_place(homes: Homes) -> None:
    first = homes.owner(new_place(3), "big")
    assert homes.ask(first, 0, 5) == 5

    successor = homes.owner(3, "big")
    homes.end(successor, after("main", "big"))

    assert homes.ask(successor, 0, 5) == 5


def test_the_next_move_leaves_a_living_owner_its_permits(homes: Homes) -> None:
    living = homes.owner(new_place(3), "big")
    assert homes.ask(living, 0, 3) == 3

    newest = homes.owner(new_place(3), "third")  # partition 3 moves on from big
    homes.end(newest, during("big", "third"))

    assert homes.ask(newest, 0, 2) == 2
    assert homes.ask(newest, 2, 5) == 2, "three jobs still run at the former place"
    assert homes.ask(newest, 2, 2) == 2
    assert homes.ask(living, 3, 3) == 3, "it has what it had"
    assert homes.ask(living, 0, 3) == 3, "and may ask for more once they have ended"


def test_an_owner_that_ended_at_a_place_that_is_left_holds_no_permits(homes: Homes) -> None:
    assert homes.ask(homes.owner(3, "main"), 5, 5) == 5

    successor = homes.owner(3, "big")
    homes.end(successor, after("main", "big"))

    assert homes.ask(successor, 0, 5) == 5


@pytest.mark.parametrize("number", [3, new_place(3)])
def test_permits_of_an_owner_of_an_earlier_release_end_with_the_upgrade(
    homes: Homes, number: int
) -> None:
    old = Partition(number, b"qp:{q:3}", homes.servers["big"]).acquire(lease_s=0.001)
    assert isinstance(old, OwnedPartition)
    assert homes.ask(old, 0, 5) == 5
    homes.newest = old.epoch

    successor = homes.owner(3, "big")
    homes.end(successor, after("main", "big"))

    assert homes.ask(successor, 0, 5) == 5


def test_an_owner_that_was_left_behind_ends_nothing_where_its_partition_is_now(
    homes: Homes,
) -> None:
    living = homes.owner(3, "main")  # partition 3 went to big, and came back
    late = homes.owner(3, "big")  # took that place by an older route
    homes.end(late, after("main", "big", "main"))

    assert homes.ask(living, 0, 5) == 5


def test_an_owner_of_a_retired_partition_names_no_other_place() -> None:
    view = View(PLACEMENT[:3], 9, retired=("big",), firsts={3: "main"})

    assert askers_elsewhere(view, 3, "default", "big") == []


def test_other_places_are_known_once_the_route_was_read_after_the_partition_was_acquired() -> None:
    server = MemoryServer()
    pool: Any = SimpleNamespace(
        config=SimpleNamespace(topology=SimpleNamespace(view=after("main", "big"))),
        partition=lambda n, _pool: Partition(n, b"qp:{q:3}", server, at="big"),
        route=SimpleNamespace(state=Verification(read_s=monotonic())),
    )
    whereabouts = Whereabouts(pool, "default")
    assert whereabouts.askers_elsewhere() == []
    whereabouts.acquire(3)

    assert whereabouts.askers_elsewhere() is None
    pool.route.state.read_s = monotonic()
    assert whereabouts.askers_elsewhere() == ["3@main", 3, 8195]
    whereabouts.leave()
    assert whereabouts.askers_elsewhere() == []


def test_names_are_those_of_places() -> None:
    assert asker_at(3, "default", "big") == asker_at(new_place(3), "default", "big") == "3@big"
    assert asker_at(3, "video", "main") == "3~video@main"
    assert (asker_at(3, "default", ""), asker_at(3, "video", "")) == (3, "3~video")


def test_all_places_are_named_where_a_partition_was() -> None:
    def named(number: int, pool: str, at: str) -> list[int | str]:
        placement = (*PLACEMENT[:3], at, *PLACEMENT[4:])
        view = View(placement, 9, firsts={3: "third", 5: "big"}, former=FORMER)
        return askers_elsewhere(view, number, pool, at)

    assert named(3, "default", "big") == ["3@main", "3@third", 3, 8195]
    assert named(3, "default", "third") == ["3@main", 3, 8195]
    assert named(6, "video", "main") == ["6~video", "8198~video"]
    assert named(LEGACY, "default", "main") == [LEGACY, new_place(LEGACY)]
