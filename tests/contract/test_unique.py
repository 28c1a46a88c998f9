"""A unique key keeps other jobs out while its job has not ended, and never for longer.

After each test the partition is checked: a key is held by exactly the job that has it and is alive.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queuepool.errors import InvalidInputError
from queuepool.models import JobState, Replayed
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing.server import MemoryServer
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer.verbs import Conflicts
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World

KEPT_OUT = Conflicts(b"2", (b"a",))


def enqueue(world: World, job_id: str, key: bytes = b"k", **more: int) -> object:
    return w.enqueue(world, [job_id], unique={0: key}, **more)  # type: ignore[arg-type]


def in_flight(world: World) -> OwnedPartition:
    owned = world.own(nonce="n")
    assert enqueue(world, "a") == b"1"
    assert w.claim(owned).ids == [b"a"]
    return owned


def plant(world: World, *, holder: tuple[bytes, bytes] | None, key_of: dict[bytes, bytes]) -> None:
    """Write what a version that knows no unique keys would leave behind."""
    server, base = world.partition.server, world.partition.key
    if isinstance(server, MemoryServer):
        wishes = server.data(base).wishes
        wishes.keys.update({i: b"e" + key for i, key in key_of.items()})
        wishes.holders.update([holder] if holder else [])
        return
    for job_id, key in key_of.items():
        world.client.hset(base + b":uk", job_id, b"e" + key)
    if holder:
        world.client.hset(base + b":u", *holder)


def test_a_second_job_is_kept_out_and_told_which_one_is_there(world: World) -> None:
    assert enqueue(world, "a") == b"1"
    assert enqueue(world, "b") == KEPT_OUT
    assert enqueue(world, "c", delay_ms=1000) == KEPT_OUT

    assert world.partition.status("b").state is JobState.UNKNOWN
    assert world.counters()["conflicts"] == 2
    assert "duplicate" not in world.counters()
    assert world.partition.group(b"g").total == 1


def test_the_same_id_again_is_its_own_duplicate(world: World) -> None:
    assert enqueue(world, "a") == b"1"
    assert enqueue(world, "a") == b"0"
    assert enqueue(world, "a", b"other") == b"0"
    assert enqueue(world, "b", b"other") == b"1"
    assert world.counters()["duplicate"] == 2


def test_of_one_call_the_first_job_wins_and_others_are_not_touched(world: World) -> None:
    said = w.enqueue(
        world, ["a", "plain", "b", "c", "d"], unique={0: b"k", 2: b"k", 3: b"other", 4: b"other"}
    )

    assert said == Conflicts(b"11212", (b"a", b"c"))
    assert w.drain(world.own(nonce="n")) == ["a", "plain", "c"]


def test_an_id_named_twice_in_a_call_is_not_kept_out_by_itself(world: World) -> None:
    assert w.enqueue(world, ["a", "a", "b"], unique={1: b"k", 2: b"k"}) == b"101"
    assert w.enqueue(world, ["c", "c"], unique={0: b"l", 1: b"l"}) == b"10"


def test_keys_of_512_bytes_are_taken_and_others_refused_with_nothing_written(world: World) -> None:
    assert enqueue(world, "a", b"x" * 512) == b"1"
    for key in (b"x" * 513, b""):
        with pytest.raises(InvalidInputError, match="unique key"):
            enqueue(world, "b", key)
    assert world.partition.observe().jobs == 1


def test_a_key_may_be_any_bytes(world: World) -> None:
    for n, key in enumerate((b"\x00", b"{x}:*", b"a", b"\xff" * 9)):
        assert enqueue(world, f"id{n}", key) == b"1"
        assert enqueue(world, "other", key) == Conflicts(b"2", (b"id%d" % n,))


# -- every way to end ------------------------------------------------------------------------------


def finished(world: World) -> None:
    owned = world.own(nonce="n")
    claims = w.claim(owned)
    assert w.finish(owned, claims).finished == 1


def finished_after_a_rollback(world: World) -> None:
    owned = world.own(nonce="n")
    claims = w.claim(owned)
    owned.run(own.hand_back(owned.ownership, claims.ids))
    assert w.finish(owned, claims).rolled_back == 1


def died(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    assert w.bury(owned, [b"a"]) == b"b"


def died_and_was_evicted(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    assert w.bury(owned, [b"a"], keep_jobs=0) == b"b"
    assert world.partition.status("a").state is JobState.UNKNOWN


def died_and_was_discarded(world: World) -> None:
    died(world)
    assert world.partition.discard(["a"]) == 1


def crashed(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    [step] = w.recover(world.own(nonce="n"), max_crashes=1)
    assert len(step.buried) == 1


def cancelled(world: World) -> None:
    assert world.partition.cancel("a") is JobState.READY


def cancelled_while_delayed(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    w.retry(owned, [b"a"], delay_ms=1000)
    assert world.partition.cancel("a") is JobState.DELAYED


def cancelled_with_its_group(world: World) -> None:
    assert world.partition.cancel_group(b"g") == (1, 0)


def cancelled_while_it_ran(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    world.partition.cancel("a")
    assert owned.run(own.end_cancelled(owned.ownership, [b"a"])) == 1


def cancelled_as_it_was_handed_back(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    world.partition.cancel("a")
    assert owned.run(own.hand_back(owned.ownership, [b"a"])) == 1


def cancelled_as_it_was_retried(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    world.partition.cancel("a")
    assert w.retry(owned, [b"a"]) == b"c"


def cancelled_as_it_was_recovered(world: World) -> None:
    owned = world.own(nonce="n")
    w.claim(owned)
    world.partition.cancel("a")
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    [step] = w.recover(world.own(nonce="n"))
    assert step.cancelled == 1


WAYS = (
    finished, finished_after_a_rollback, died, died_and_was_evicted, died_and_was_discarded,
    crashed, cancelled, cancelled_while_delayed, cancelled_with_its_group, cancelled_while_it_ran,
    cancelled_as_it_was_handed_back, cancelled_as_it_was_retried, cancelled_as_it_was_recovered,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_key_is_free_when_its_job_ended(world: World, way: Callable[[World], None]) -> None:
    enqueue(world, "a")
    way(world)

    assert enqueue(world, "b") == b"1"
    assert enqueue(world, "c") == Conflicts(b"2", (b"b",))


@pytest.mark.parametrize("way", WAYS)
def test_no_key_is_left_when_its_job_is_gone(world: World, way: Callable[[World], None]) -> None:
    enqueue(world, "a")
    way(world)
    if way in (died, crashed):
        world.partition.discard(["a"])

    assert snapshot(world)["unique"] == ({}, {})


@pytest.mark.parametrize("way", [died, crashed])
def test_a_dead_job_knows_its_key_and_holds_it_no_longer(
    world: World, way: Callable[[World], None]
) -> None:
    enqueue(world, "a")
    way(world)

    assert snapshot(world)["unique"] == ({}, {b"a": b"ek"})


@pytest.mark.parametrize("way", [finished, died, cancelled_while_it_ran, cancelled_with_its_group])
def test_the_end_of_another_job_leaves_the_key_alone(
    world: World, way: Callable[[World], None]
) -> None:
    w.enqueue(world, ["a"])
    enqueue(world, "holder", delay_ms=1000)
    if way is cancelled_with_its_group:
        world.partition.cancel("a")
    else:
        way(world)

    assert enqueue(world, "b") == Conflicts(b"2", (b"holder",))


def test_a_job_that_waits_runs_or_is_retried_holds_its_key(world: World) -> None:
    owned = in_flight(world)
    assert enqueue(world, "b") == KEPT_OUT
    w.retry(owned, [b"a"], delay_ms=1000)
    assert enqueue(world, "b") == KEPT_OUT
    world.advance(2)
    w.promote(owned)
    assert enqueue(world, "b") == KEPT_OUT
    owned.run(own.hand_back(owned.ownership, w.claim(owned).ids))
    assert enqueue(world, "b") == KEPT_OUT
    w.claim(owned)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    w.recover(world.own(nonce="n"))
    assert enqueue(world, "b") == KEPT_OUT


def test_several_that_end_in_one_call_free_their_keys(world: World) -> None:
    owned = world.own(nonce="n")
    w.enqueue(world, w.names("j", 5), unique={1: b"one", 2: b"two", 4: b"four"})
    claims = w.claim(owned)

    w.finish(owned, claims, 0, 1, 4)

    assert snapshot(world)["unique"] == ({b"two": b"j00002"}, {b"j00002": b"etwo"})


def test_a_job_that_ends_twice_frees_nothing_of_its_successor(world: World) -> None:
    owned = in_flight(world)
    ended = w._HELD[world.partition.key][-1]
    claims = own.Claims(0, [b"a"], ended, [], [], 1)
    w.finish(owned, claims)
    assert enqueue(world, "b") == b"1"

    assert w.finish(owned, claims).duplicates == 1

    assert enqueue(world, "c") == Conflicts(b"2", (b"b",))


# -- replay ----------------------------------------------------------------------------------------


def test_a_replayed_job_takes_its_key_again(world: World) -> None:
    enqueue(world, "a")
    died(world)

    assert world.partition.replay(["a"]) == Replayed(1)

    assert enqueue(world, "b") == KEPT_OUT


def test_a_dead_job_stays_dead_while_another_holds_its_key(world: World) -> None:
    enqueue(world, "a")
    died(world)
    enqueue(world, "b")

    assert world.partition.replay(["a"]) == Replayed(0, ("a",))  # type: ignore[arg-type]

    assert world.partition.status("a").state is JobState.DEAD
    assert w.drain(world.own(nonce="n")) == ["b"]
    assert world.partition.replay(["a"]) == Replayed(1)


def test_of_two_dead_jobs_with_one_key_one_is_replayed(world: World) -> None:
    for job_id in ("a", "b"):
        enqueue(world, job_id)
        owned = world.own(nonce="n")
        w.bury(owned, w.claim(owned).ids)

    assert world.partition.replay(["b", "a"]) == Replayed(1, ("a",))  # type: ignore[arg-type]


# -- what other versions and failovers leave -------------------------------------------------------


def test_a_key_whose_job_ended_under_an_older_version_is_free(world: World) -> None:
    plant(world, holder=(b"k", b"gone"), key_of={b"gone": b"k"})
    assert enqueue(world, "a") == b"1"
    assert enqueue(world, "b") == KEPT_OUT
    assert world.partition.audit(repair=True).stray == 1


def test_a_key_whose_job_died_under_an_older_version_is_free(world: World) -> None:
    enqueue(world, "a")
    died(world)
    plant(world, holder=(b"k", b"a"), key_of={})

    assert world.partition.audit().stray == 1
    assert enqueue(world, "b") == b"1"


def test_a_dead_job_that_an_older_version_left_with_its_key_is_replayed(world: World) -> None:
    enqueue(world, "a")
    died(world)
    plant(world, holder=(b"k", b"a"), key_of={})

    assert world.partition.replay(["a"]) == Replayed(1)


def test_a_key_that_another_job_of_the_id_had_is_free(world: World) -> None:
    w.enqueue(world, ["x"])
    plant(world, holder=(b"k", b"x"), key_of={})

    assert enqueue(world, "a") == b"1"


@pytest.mark.parametrize("planted", [{b"gone": b"k"}, {}])
def test_an_audit_finds_keys_of_jobs_that_are_gone(
    world: World, planted: dict[bytes, bytes]
) -> None:
    enqueue(world, "a", b"other")
    plant(world, holder=(b"k", b"gone"), key_of=planted)

    assert world.partition.audit().stray == 1 + len(planted)
    assert world.partition.audit(repair=True).stray == 1 + len(planted)
    assert world.partition.audit().clean
    assert snapshot(world)["unique"] == ({b"other": b"a"}, {b"a": b"eother"})
