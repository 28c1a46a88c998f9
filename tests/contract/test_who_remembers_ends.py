"""Whoever ends a job remembers its id, and frees the older set of ids when its time is over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from queuepool.errors import ForeignValueError
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.test_probes import Monitor
from tests.contract.world import World


def finished(world: World, owned: OwnedPartition, job_id: str) -> None:
    w.finish(owned, running(world, owned, job_id))


def renewed(world: World, owned: OwnedPartition, job_id: str) -> None:
    finished(world, owned, job_id)  # asks for no time to live: it is the hottest of all
    w.renew(owned)


def finished_late(world: World, owned: OwnedPartition, job_id: str) -> None:
    [body] = running(world, owned, job_id).bodies
    strays = [(job_id.encode(), codec.read_stamp(body), 0, b"")]
    assert owned.run(own.finish_stray(owned.ownership, strays)).finished == 1


def stopped(world: World, owned: OwnedPartition, job_id: str) -> None:
    assert owned.run(own.end_cancelled(owned.ownership, cancelled(world, owned, job_id))) == 1


def retried(world: World, owned: OwnedPartition, job_id: str) -> None:
    assert w.retry(owned, cancelled(world, owned, job_id)) == b"c"


def handed_back(world: World, owned: OwnedPartition, job_id: str) -> None:
    assert owned.run(own.hand_back(owned.ownership, cancelled(world, owned, job_id))) == 1


def recovered(world: World, owned: OwnedPartition, job_id: str) -> None:
    cancelled(world, owned, job_id)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    assert w.recover(world.own())[0].cancelled == 1


def promoted(world: World, owned: OwnedPartition, job_id: str) -> None:
    group = job_id.encode()
    w.enqueue(world, [job_id], group, delay_ms=1)
    world.partition.run(produce.cancel_group(group, b"start"))  # all of it, in memory
    world.advance(0.002)
    assert w.promote(owned).cancelled == (0 if world.in_memory else 1)


def expired(world: World, owned: OwnedPartition, job_id: str) -> None:
    before = world.counters().get("expired", 0)
    w.enqueue(world, [job_id], expires_ms=1)
    world.advance(0.002)
    assert not w.claim(owned).ids
    assert world.counters()["expired"] == before + 1


def cancelled_alone(world: World, _: OwnedPartition, job_id: str) -> None:
    w.enqueue(world, [job_id])
    assert world.partition.cancel(job_id).value == "ready"


def cancelled_with_its_group(world: World, _: OwnedPartition, job_id: str) -> None:
    w.enqueue(world, [job_id], job_id.encode())
    world.partition.cancel_group(job_id.encode())


def running(world: World, owned: OwnedPartition, job_id: str) -> own.Claims:
    w.enqueue(world, [job_id])
    claims = w.claim(owned)
    assert [job_id.encode()] == list(claims.ids)
    return claims


def cancelled(world: World, owned: OwnedPartition, job_id: str) -> list[bytes]:
    """Ask a running job to stop."""
    running(world, owned, job_id)
    world.partition.cancel(job_id)
    return [job_id.encode()]


End = Callable[[World, OwnedPartition, str], None]
WAYS: list[End] = [
    *(finished, finished_late, stopped, retried, handed_back, recovered, promoted),
    *(cancelled_alone, cancelled_with_its_group, expired),
]


@pytest.mark.parametrize("end", WAYS)
def test_an_end_frees_the_set_that_was_not_in_use_for_a_minute(world: World, end: End) -> None:
    owned = world.own()
    for job_id in ("a", "b"):
        finished(world, owned, job_id)
        world.advance(61)

    end(world, owned, "c")

    assert w.enqueue(world, ["a", "b", "c"]) == b"100"


@pytest.mark.parametrize("end", WAYS)
def test_an_end_frees_both_sets_after_two_minutes(world: World, end: End) -> None:
    owned = world.own()
    finished(world, owned, "a")
    world.advance(61)
    finished(world, owned, "b")
    world.advance(121)

    end(world, owned, "c")

    assert w.enqueue(world, ["a", "b", "c"]) == b"110"


@pytest.mark.parametrize("end", WAYS)
def test_a_foreign_value_in_the_place_of_the_set_that_is_next_is_told_and_stays(
    server_world: World, end: End
) -> None:
    owned, base = server_world.own(), server_world.partition.key
    finished(server_world, owned, "a")
    next_set = base + b":dn:%d" % (1 - int(server_world.client.hget(base + b":c", "dn")))
    server_world.client.set(next_set, "not ours")
    server_world.advance(61)

    with pytest.raises(ForeignValueError):
        end(server_world, owned, "b")

    assert server_world.client.getdel(next_set) == b"not ours"


@pytest.mark.parametrize("end", [*(way for way in WAYS if way is not finished), renewed])
def test_an_end_or_the_next_renewal_stops_a_set_that_an_older_release_lets_expire(
    server_world: World, end: End
) -> None:
    owned, base = server_world.own(), server_world.partition.key
    finished(server_world, owned, "a")
    in_use = base + b":dn:" + server_world.client.hget(base + b":c", "dn")
    server_world.client.pexpire(in_use, 90_000)

    end(server_world, owned, "b")

    names = 2 if end is expired else 1  # a second one says how the job ended
    assert server_world.client.scard(in_use) == 1 + names
    assert server_world.client.pttl(in_use) == -1


@pytest.mark.parametrize("end", WAYS)
def test_an_end_within_the_minute_does_not_lengthen_it(world: World, end: End) -> None:
    owned = world.own()
    finished(world, owned, "a")
    world.advance(30)

    end(world, owned, "b")

    world.advance(31)
    cancelled_alone(world, owned, "c")
    world.advance(61)
    cancelled_alone(world, owned, "d")
    assert w.enqueue(world, ["a"]) == b"1"


@pytest.mark.parametrize("end", WAYS)
def test_an_end_looks_at_the_set_that_it_turns_to_before_it_writes(
    server_world: World, end: End
) -> None:
    owned, monitor = server_world.own(), Monitor(server_world.client)
    finished(server_world, owned, "a")
    server_world.advance(61)

    calls = monitor.calls(partial(end, server_world, owned, "b"))

    assert any(b":dn:1" in words[1] for _, commands in calls for words in commands if words[1:])
    assert not [late for call in calls for late in monitor.late(call)]
