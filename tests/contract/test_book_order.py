"""The book is in the order in which jobs began, also those that begin in one ms."""

from __future__ import annotations

from typing import Any

from queuepool.testing.server import MemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World


def entries(world: World, epoch: int) -> list[tuple[float, bytes]]:
    """Return the (score, id) of a book, as it is sorted."""
    server = world.partition.server
    if isinstance(server, MemoryServer):
        return list(server.data(world.partition.key).book(epoch).entries())
    key = world.partition.key + b":fl:%d" % epoch
    return [(score, i) for i, score in world.client.zrange(key, 0, -1, withscores=True)]


def test_jobs_are_booked_in_the_order_they_began(world: World) -> None:
    owned = world.own()
    ids = w.names("j", 1000)
    for first in range(0, 1000, 200):
        w.enqueue(world, ids[first : first + 200])
    ahead = [i for _ in range(4) for i in w.claim(owned, 200, starting=0).ids]
    owned.run(own.start(owned.ownership, [b"none"]))  # the server knows both scripts from here on
    verbs: list[Verb[Any]] = []
    expected: list[bytes] = []
    for n in range(4):
        mine = ahead[200 * n : 200 * n + 200]
        new = [i.encode() for i in ids[800 + 10 * n : 810 + 10 * n]]
        verbs.append(own.start(owned.ownership, mine))
        verbs.append(
            own.claim(owned.ownership, 10, starting=10, promote_after_ms=0, weights=w.WEIGHTS)
        )
        expected += [*mine, *new]

    owned.turn(verbs)

    booked = entries(world, owned.epoch)
    assert [i for _, i in booked] == expected
    assert len({score for score, _ in booked}) == len(expected)


def test_a_call_books_within_less_time_than_it_takes(server_world: World) -> None:
    """Else the next one could begin before the last of its scores, and tie with it."""
    owned = server_world.own()
    w.enqueue(server_world, w.names("a", 200))
    w.claim(owned, 200)
    w.enqueue(server_world, w.names("b", 200))
    owned.run(own.start(owned.ownership, list(w.claim(owned, 200, starting=0).ids)))

    scores = [score for score, _ in entries(server_world, owned.epoch)]

    for first, last in ((scores[0], scores[199]), (scores[200], scores[399])):
        assert (last - first) * 1000 < 0.5 * 200  # us; a job takes more than a half


def test_what_is_in_flight_is_listed_as_a_claim_took_it(world: World) -> None:
    """Those that start at once, then those that wait: so a lost claim goes back in its order."""
    owned = world.own()
    ids = [name.encode() for name in w.names("n", 6)]
    w.enqueue(world, ids)
    w.claim(owned, 6, starting=2)

    listed = w.book(owned)

    assert listed == ids
    owned.run(own.hand_back(owned.ownership, listed))
    assert list(w.claim(owned, 6).ids) == ids
