"""A unique key that is held until its job starts: at most one such job waits, another may run."""

from __future__ import annotations

from queuepool.models import JobState, Replayed
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer.verbs import Conflicts
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World

STARTED: tuple[dict[bytes, bytes], ...] = ({}, {b"a": b"Sk"})


def enqueue(world: World, job_id: str) -> object:
    return w.enqueue(world, [job_id], unique={0: b"k"}, until=b"s")


def claimed(world: World, starting: int) -> OwnedPartition:
    owned = world.own(nonce="n")
    assert enqueue(world, "a") == b"1"
    assert w.claim(owned, starting=starting).ids == [b"a"]
    return owned


def test_another_is_kept_out_while_it_waits_and_let_in_when_it_runs(world: World) -> None:
    enqueue(world, "a")
    assert enqueue(world, "b") == Conflicts(b"2", (b"a",))
    assert w.enqueue(world, ["b"], unique={0: b"k"}) == Conflicts(b"2", (b"a",))

    w.claim(world.own(nonce="n"))

    assert enqueue(world, "b") == b"1"
    assert enqueue(world, "c") == Conflicts(b"2", (b"b",))


def test_a_job_in_a_consumers_memory_has_not_started(world: World) -> None:
    owned = claimed(world, starting=0)
    assert enqueue(world, "b") == Conflicts(b"2", (b"a",))

    owned.run(own.hand_back(owned.ownership, [b"a"]))
    assert enqueue(world, "b") == Conflicts(b"2", (b"a",))

    w.claim(owned, starting=0)
    owned.run(own.start(owned.ownership, [b"never", b"a"]))
    assert snapshot(world)["unique"] == STARTED
    assert enqueue(world, "b") == b"1"


def test_only_those_that_start_in_a_claim_free_their_keys(world: World) -> None:
    w.enqueue(world, ["a", "b", "c"], unique={0: b"k", 1: b"l", 2: b"m"}, until=b"s")

    w.claim(world.own(nonce="n"), starting=2)

    assert snapshot(world)["unique"][0] == {b"m": b"c"}


def test_a_key_until_the_end_stays_when_its_job_starts(world: World) -> None:
    owned = world.own(nonce="n")
    w.enqueue(world, ["a"], unique={0: b"k"})
    w.claim(owned, starting=0)
    owned.run(own.start(owned.ownership, [b"a"]))

    assert enqueue(world, "b") == Conflicts(b"2", (b"a",))


def test_a_retry_does_not_take_the_key_again(world: World) -> None:
    owned = claimed(world, starting=1)
    w.retry(owned, [b"a"])

    assert enqueue(world, "b") == b"1"
    world.partition.cancel("b")
    w.promote(owned)
    assert enqueue(world, "c") == b"1"
    assert w.claim(owned).ids == [b"a", b"c"]


def test_a_retry_tells_that_it_started(world: World) -> None:
    owned = claimed(world, starting=0)
    w.retry(owned, [b"a"], delay_ms=1000)

    assert snapshot(world)["unique"] == STARTED


def test_one_that_is_set_aside_has_not_started(world: World) -> None:
    owned = claimed(world, starting=0)
    owned.run(own.retry(owned.ownership, [(b"a", 1000, "new", b"")]))

    assert enqueue(world, "b") == Conflicts(b"2", (b"a",))


def test_a_started_job_that_another_one_follows_ends_alone(world: World) -> None:
    owned = claimed(world, starting=1)
    enqueue(world, "b")

    w.bury(owned, [b"a"])
    assert enqueue(world, "c") == Conflicts(b"2", (b"b",))
    assert world.partition.replay(["a"]) == Replayed(0, ("a",))  # type: ignore[arg-type]
    world.partition.discard(["a"])

    assert snapshot(world)["unique"] == ({b"k": b"b"}, {b"b": b"sk"})


def test_a_replayed_job_holds_its_key_until_it_starts_again(world: World) -> None:
    owned = claimed(world, starting=1)
    w.bury(owned, [b"a"])

    assert world.partition.replay(["a"]) == Replayed(1)

    assert enqueue(world, "b") == Conflicts(b"2", (b"a",))
    w.claim(owned)
    assert enqueue(world, "b") == b"1"


def test_a_job_that_died_before_it_started_takes_its_key_again(world: World) -> None:
    owned = claimed(world, starting=0)
    w.bury(owned, [b"a"])

    assert world.partition.replay(["a"]) == Replayed(1)

    assert world.partition.status("a").state is JobState.READY
    assert snapshot(world)["unique"] == ({b"k": b"a"}, {b"a": b"sk"})
