"""What a group's turn depends on goes with it: a serial group's retry, its tier, its cap."""

from __future__ import annotations

import pytest

from coordinator.core.moves.copying import Side, copying
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.moves import verbs as move
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.test_moves import Pair, V, pair

__all__ = ["pair"]


def _claim(owned: OwnedPartition) -> own.Claims:
    """Claim what there is, past marks that were left when the group was here before."""
    while (claims := w.claim(owned)).taken and not claims.ids:
        pass
    return claims


@pytest.mark.parametrize("delay_ms", [0, 60_000])
@pytest.mark.parametrize("back", [False, True])
def test_the_retry_of_a_serial_group_is_next_where_it_arrives(
    pair: Pair, delay_ms: int, back: bool
) -> None:
    pair.a.partition.run(produce.configure(b"g", serial=True, keep_ms=60_000))
    owned = pair.a.own(nonce="a")
    w.enqueue(pair.a, ["first", "second", "third"])
    claims = w.claim(owned)
    assert claims.ids == [b"first"]
    w.retry(owned, claims.ids, delay_ms=delay_ms)
    if delay_ms == 0:
        w.promote(owned)
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    pair.freeze(b"g")
    assert pair.carry().done
    pair.check()
    if back:
        pair.a, pair.b = pair.b, pair.a
        assert pair.carry().done
    pair.arrive()
    pair.check()

    there = pair.b.own(nonce="b")
    if delay_ms:
        assert _claim(there).ids == []
        pair.b.advance(61)
        assert w.promote(there).promoted == 1
    for name in (b"first", b"second", b"third"):
        claims = _claim(there)
        assert claims.ids == [name]
        assert _claim(there).ids == []
        w.finish(there, claims)


@pytest.mark.parametrize("ahead_ms", [0, 600_000])
def test_the_tier_of_a_group_holds_where_it_arrives_whatever_the_clocks_say(
    pair: Pair, ahead_ms: int
) -> None:
    w.enqueue(pair.a, ["a", "b"])
    w.enqueue(pair.a, ["parked"], limits=b"api")
    owned = pair.a.own(nonce="a")
    pair.a.partition.run(produce.configure(b"g", tier=0))

    def told(jobs: move.Exported) -> move.Exported:
        moved = b"%d" % (int(jobs.record[b"moved"]) + ahead_ms)
        return move.Exported({**jobs.record, b"moved": moved}, jobs.words)

    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    w.enqueue(pair.b, ["other"], b"other")
    pair.freeze(b"g")
    assert pair.drive(copying(V, b"g", [], told)).done
    pair.arrive()
    pair.check()

    there = pair.b.own(nonce="b")
    assert w.claim(there, 2, weights=w.STRICT).ids == [b"a", b"b"]
    text = w.tail(b"g", b"{}")
    late = {"jobs": 1, "size_bytes": 13 + len(text), "version": V + 1, **w.LIMITS}
    pair.run(Side.B, produce.enqueue([2, b"g", 0, 1, b"new", text], **late))
    assert b"new" in w.claim(there, 5, weights=w.STRICT).ids


def test_a_cap_holds_while_a_job_that_stayed_behind_in_b_runs(pair: Pair) -> None:
    pair.b.partition.run(produce.configure(b"g", max_running=1, keep_ms=60_000))
    there = pair.b.own(nonce="b")
    w.enqueue(pair.b, ["runs"])
    running = w.claim(there)
    pair.a.partition.run(produce.configure(b"g", max_running=1, keep_ms=60_000))
    w.enqueue(pair.a, ["next"])
    pair.freeze(b"g")
    assert pair.carry().done
    pair.arrive()
    pair.check()

    assert w.claim(there).ids == []
    w.finish(there, running)
    assert w.claim(there).ids == [b"next"]
