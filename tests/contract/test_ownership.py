"""One owner at a time, and no trace of anybody else's writes."""

from collections.abc import Callable
from typing import Any

import pytest

from queuepool.errors import FencedError
from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def test_a_held_partition_says_for_how_long(world: World) -> None:
    owner = world.own(lease_s=60, nonce="first")

    held = world.partition.acquire(lease_s=60, nonce="second")

    assert isinstance(held, own.Held)
    assert held.epoch == owner.epoch
    assert 30_000 < held.lease_ms <= 60_000


def test_who_may_not_replace_hears_of_a_lease_that_is_over_and_takes_what_is_free(
    world: World,
) -> None:
    first = world.own(lease_s=5)
    world.advance(6)

    told = world.partition.acquire(lease_s=5, nonce="second", replaces=False)
    first.run(own.promote(first.ownership))  # it still owns
    first.run(own.release(first.ownership, drain_lease_ms=0))
    taken = world.partition.acquire(lease_s=5, nonce="second", replaces=False)

    assert isinstance(told, own.Held)
    assert (told.lease_ms, told.epoch) == (0, first.epoch)
    assert isinstance(taken, OwnedPartition)


def test_a_lease_does_not_outlast_its_owner_by_a_clock_that_goes_back(world: World) -> None:
    if world.clock is not None:
        pytest.skip("the clock of the memory never goes back")
    first = world.own(lease_s=60)
    world.advance(-3600)

    held = world.partition.acquire(lease_s=60, nonce="second")

    assert isinstance(held, own.Held)
    assert 30_000 < held.lease_ms <= 60_000
    world.advance(61)
    assert world.own().epoch > first.epoch


def test_an_owner_that_is_gone_is_replaced_though_the_clock_went_back(world: World) -> None:
    if world.clock is not None:
        pytest.skip("the clock of the memory never goes back")
    world.own(lease_s=5)
    world.advance(-3600)
    told = world.partition.acquire(lease_s=60, nonce="second")
    assert isinstance(told, own.Held)

    verb = own.acquire(world.partition.number, "second", lease_ms=60_000, host="", gone=told)

    assert isinstance(world.partition.run(verb), own.Acquired)


def test_an_expired_partition_is_taken_with_a_higher_epoch(world: World) -> None:
    first = world.own(lease_s=5)
    world.advance(6)

    second = world.own()

    assert second.epoch > first.epoch


def test_the_same_process_may_acquire_anew(world: World) -> None:
    first = world.own(nonce="me")
    w.enqueue(world, ["a"])
    w.claim(first)

    second = world.own(nonce="me")

    assert second.epoch > first.epoch
    assert second.acquired.epochs_to_recover == 1
    w.recover(second)


def test_epochs_grow_from_the_servers_time(world: World) -> None:
    first = world.own(nonce="me")
    second = world.own(nonce="me")

    assert first.epoch >= first.acquired.now_ms
    assert second.epoch > first.epoch


WRITES: dict[str, Callable[[OwnedPartition], Any]] = {
    "claim": w.claim,
    "promote": lambda o: o.run(own.promote(o.ownership)),
    "recover": w.recover,
    "finish": lambda o: o.run(own.finish(o.ownership, {b"g": own.Acks(9, [b"a"], [])})),
    "retry": lambda o: w.retry(o, [b"a"]),
    "bury": lambda o: w.bury(o, [b"a"]),
    "hand_back": lambda o: o.run(own.hand_back(o.ownership, [b"a"])),
    "start": lambda o: o.run(own.start(o.ownership, [b"a"])),
    "progress": lambda o: o.run(own.progress(o.ownership, {b"a": b"x"})),
    "end_cancelled": lambda o: o.run(own.end_cancelled(o.ownership, [b"a"])),
    "finish_stray": lambda o: o.run(own.finish_stray(o.ownership, [(b"a", b"", 0, b"")])),
    "rouse": lambda o: o.run(own.rouse(o.ownership, b"0", ["new"])),
    "rotate_nonce": lambda o: o.run(own.rotate_nonce(o.ownership.rotated())),
    "renew": w.renew,
    "release": lambda o: o.run(own.release(o.ownership, drain_lease_ms=0)),
}


@pytest.mark.parametrize("verb", WRITES)
def test_a_replaced_owner_changes_nothing(world: World, verb: str) -> None:
    stale = world.own(lease_s=5)
    w.enqueue(world, ["a", "b"])
    w.enqueue(world, ["c"], delay_ms=1_000)
    w.claim(stale, 1)
    world.advance(6)
    fresh = world.own()
    before = snapshot(world)

    with pytest.raises(FencedError) as refused:
        WRITES[verb](stale)

    assert (refused.value.epoch, refused.value.current) == (stale.epoch, fresh.epoch)
    after = snapshot(world)
    refusals = [state["counters"].pop("fenced", 0) for state in (before, after)]
    assert after == before
    assert refusals == [0, 0 if verb == "release" else 1]  # who leaves late did no harm


def test_a_right_epoch_with_a_wrong_nonce_is_refused(world: World) -> None:
    owned = world.own(nonce="abcdef")
    ownership = own.Ownership(0, "abc", owned.epoch)

    with pytest.raises(FencedError):
        world.partition.run(own.start(ownership, [b"a"]))


def test_a_renewed_lease_lasts(world: World) -> None:
    owned = world.own(lease_s=50, nonce="me")
    world.advance(30)
    w.renew(owned, lease_s=50)
    world.advance(30)

    assert isinstance(world.partition.acquire(lease_s=5, nonce="other"), own.Held)
    owner = world.partition.observe().owner
    assert owner is not None
    assert (owner.workers, owner.busy, owner.target, owner.host) == (4, 2, 4, "test")


def test_an_expired_lease_that_nobody_took_is_kept(world: World) -> None:
    owned = world.own(lease_s=5)
    world.advance(60)

    assert not w.renew(owned).draining
    assert w.claim(owned).taken == 0


def test_a_server_that_forgot_a_renewal_is_noticed(world: World) -> None:
    owned = world.own()

    assert not w.renew(owned, beat=1).rolled_back
    assert not w.renew(owned, beat=2).rolled_back
    assert w.renew(owned, beat=4).rolled_back  # beat 3 was answered and is not there


def test_a_renewal_tells_when_the_next_delayed_job_is_due(world: World) -> None:
    owned = world.own()
    assert w.renew(owned).next_due_ms is None
    w.enqueue(world, ["a"], delay_ms=60_000)

    due = w.renew(owned).next_due_ms

    assert due is not None
    assert 30_000 < due <= 60_000
    world.advance(61)
    assert w.renew(owned).next_due_ms == 0


def test_a_renewal_brings_commands_and_cancels(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.claim(owned)
    world.partition.cancel("a")
    for n in (1, 2):
        world.partition.run(
            lead.command(
                7, n, type="SCALE_UP", partition=0, target_workers=n, reason="why", expires_ms=9
            )
        )

    heard, later = w.renew(owned), w.renew(owned, applied="7-1")

    assert [(c.id, c.target_workers, c.reason) for c in heard.commands] == [
        ("7-1", 1, "why"), ("7-2", 2, "why"),
    ]  # fmt: skip
    assert [c.id for c in later.commands] == ["7-2"]
    assert heard.cancels == {b"a"}
    owned.run(own.end_cancelled(owned.ownership, [b"a"]))
    assert w.renew(owned).cancels == frozenset()


def test_the_next_owner_knows_what_was_applied_and_the_checkpoint(world: World) -> None:
    first = world.own(lease_s=5)
    world.partition.run(lead.checkpoint(7, 12))
    w.renew(first, applied="7-3", lease_s=5)
    world.advance(6)

    acquired = world.own().acquired

    assert (acquired.applied, acquired.checkpoint) == ("7-3", 12)
    assert acquired.checkpoint_ms is not None


def test_a_released_partition_is_free_at_once(world: World) -> None:
    first = world.own()

    assert not first.run(own.release(first.ownership, drain_lease_ms=600_000))  # nothing runs

    assert world.partition.observe().owner is None
    assert world.own().epoch > first.epoch
    with pytest.raises(FencedError):
        w.renew(first)


def test_a_predecessor_drains_while_its_successor_claims(world: World) -> None:
    old = world.own()
    w.enqueue(world, w.names("j", 6))
    claims = w.claim(old, 4)
    assert old.run(own.release(old.ownership, drain_lease_ms=60_000))
    assert world.partition.observe().in_flight == 4

    new = world.own()
    assert (new.acquired.epochs_to_recover, list(w.claim(new, 9).ids)) == (
        0,
        [b"j00004", b"j00005"],
    )
    assert w.renew(old).draining
    w.finish(old, claims, 0)
    w.retry(old, [b"j00001"])
    w.bury(old, [b"j00002"])
    old.run(own.hand_back(old.ownership, [b"j00003"]))
    with pytest.raises(FencedError):
        w.claim(old)

    assert not old.run(own.release(old.ownership, drain_lease_ms=0))
    with pytest.raises(FencedError):
        w.renew(old)
    state = world.partition.observe()
    assert (state.draining, state.books, state.in_flight) == (0, 0, 2)
    assert (state.delayed, state.dead, state.backlog) == (1, 1, 1)
    assert new.epoch > old.epoch


def test_books_of_a_predecessor_whose_lease_ended_are_recovered(world: World) -> None:
    old = world.own()
    w.enqueue(world, ["a", "b"])
    w.claim(old, starting=1)
    old.run(own.release(old.ownership, drain_lease_ms=60_000))
    new = world.own()
    assert w.renew(new).epochs_to_recover == 0
    world.advance(61)

    assert w.renew(new).epochs_to_recover == 1
    with pytest.raises(FencedError):
        w.retry(old, [b"a"])
    steps = w.recover(new)

    assert [(s.recovered, s.crashed) for s in steps] == [(1, 0), (1, 1)]
    assert w.drain(new) == ["a", "b"]


def test_leaving_altogether_queues_the_book_for_recovery(world: World) -> None:
    old = world.own()
    w.enqueue(world, ["a"])
    w.claim(old)

    assert not old.run(own.release(old.ownership, drain_lease_ms=0))

    state = world.partition.observe()
    assert (state.books, state.in_flight) == (1, 1)
    assert world.partition.status("a").state is JobState.IN_FLIGHT
    new = world.own()
    assert new.acquired.epochs_to_recover == 1
    w.recover(new)
    assert w.drain(new) == ["a"]


def test_results_of_a_lost_life_are_accepted_from_the_next_one(world: World) -> None:
    """A consumer that lost its lease in an outage acquires again and reports what it had done."""
    old = world.own(lease_s=5, nonce="me")
    w.enqueue(world, ["a", "b"])
    claims = w.claim(old)
    world.advance(6)
    new = world.own(nonce="me")

    done = w.finish(new, claims, 0, results=True)
    [step] = w.recover(new)

    assert done == own.Finished(1, 0, 1)
    assert world.partition.status("a").result == "r-a"
    assert (step.recovered, step.crashed) == (1, 1)
    assert w.drain(new) == ["b"]
    assert snapshot(world)["marks"] == set()


def test_after_rekey_calls_under_the_older_nonce_are_refused(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(owned, 1)
    newer = owned.ownership.rotated()

    assert owned.run(own.rotate_nonce(newer)) == 1
    assert owned.run(own.rotate_nonce(newer)) == 1  # repeated: its answer may have been lost

    # What a stalled server carries out late: it would put a running job back into its lane.
    with pytest.raises(FencedError):
        owned.run(own.hand_back(owned.ownership, claims.ids))
    with pytest.raises(FencedError):
        owned.run(own.rotate_nonce(owned.ownership))
    assert owned.run(own.start(newer, claims.ids)) == 1
    assert world.partition.status("a").state is JobState.IN_FLIGHT
    owned.run(own.finish(newer, {b"g": own.Acks(0, list(claims.ids))}))


def test_a_draining_life_rekeys_as_well(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(owned, 1)
    owned.run(own.release(owned.ownership, drain_lease_ms=60_000))
    newer = owned.ownership.rotated().rotated()

    assert owned.run(own.rotate_nonce(newer)) == 1

    with pytest.raises(FencedError):
        owned.run(own.hand_back(owned.ownership, claims.ids))
    owned.run(own.finish(newer, {b"g": own.Acks(0, list(claims.ids))}))
    assert world.partition.observe().counters["done"] == 1


def test_nobody_else_rekeys_a_life(world: World) -> None:
    owned = world.own()
    other = own.Ownership(0, "someone", owned.epoch)

    with pytest.raises(FencedError):
        owned.run(own.rotate_nonce(other))


def test_an_owner_that_is_to_end_hears_of_it_and_its_successor_does_not(world: World) -> None:
    first = world.own(lease_s=5, nonce="first")

    assert not world.partition.drain(first.epoch + 1)
    assert not _renewed(first).to_end
    assert world.partition.drain(first.epoch)

    assert _renewed(first).to_end
    state = world.partition.observe()
    assert state.owner is not None
    assert (state.owner.to_end, state.ending) == (True, 1)
    first.run(own.release(first.ownership, drain_lease_ms=0))
    assert not world.partition.drain(first.epoch)
    second = world.own(lease_s=5, nonce="second")
    assert not _renewed(second).to_end
    state = world.partition.observe()
    assert state.owner is not None
    assert (state.owner.to_end, state.ending) == (False, 0)


def test_a_partition_without_an_owner_has_nobody_to_drain(world: World) -> None:
    assert not world.partition.drain(0)
    assert not world.partition.drain(1)


def _renewed(owner: OwnedPartition) -> own.Renewal:
    verb = own.renew(
        owner.ownership, lease_ms=5_000, beat=1, workers=1, busy=0, target=1, applied="0-0"
    )
    return owner.run(verb)
