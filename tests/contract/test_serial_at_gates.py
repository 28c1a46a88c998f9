"""A serial group whose jobs name limits: its head waits at a gate, and all others behind it."""

from __future__ import annotations

import pytest

from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.test_capped import configure, ids
from tests.contract.test_gates import admit, gates
from tests.contract.world import World


def test_a_serial_group_waits_for_its_head_at_a_gate(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["first"])
    configure(world, serial=True)
    w.enqueue(world, ["limited"], limits=b"mail")
    w.enqueue(world, ["last"])
    w.finish(owned, w.claim(owned))

    assert w.claim(owned).ids == []
    assert w.claim(owned).ids == []

    assert gates(world) == {"mail": (1, 0)}
    assert admit(owned) == 1
    claims = w.claim(owned)
    assert ids(claims) == ["limited"]
    assert w.claim(owned).ids == []
    w.finish(owned, claims)
    assert ids(w.claim(owned)) == ["last"]


@pytest.mark.parametrize("claim_first", [False, True])
@pytest.mark.parametrize("before", [1, 3])
def test_jobs_that_were_parked_when_their_group_became_serial_come_first(
    world: World, before: int, claim_first: bool
) -> None:
    owned = world.own()
    w.enqueue(world, w.names("a", before), limits=b"mail")
    configure(world, serial=True)
    w.enqueue(world, w.names("b", 3), limits=b"mail")
    if claim_first:  # which parks a later job behind them
        assert w.claim(owned).ids == []
    begun: list[str] = []
    for _ in range(30):
        admit(owned, 1, out=1)
        claims = w.claim(owned)
        assert len(claims.ids) <= 1
        begun += ids(claims)
        w.finish(owned, claims)

    assert begun == [*w.names("a", before), *w.names("b", 3)]


def test_a_serial_group_does_not_wait_for_an_id_whose_job_ended_at_its_gate(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["first"])
    configure(world, serial=True)
    w.enqueue(world, ["a", "b"], limits=b"mail")
    w.enqueue(world, ["plain"])
    w.finish(owned, w.claim(owned))
    assert w.claim(owned).ids == []
    assert admit(owned) == 1
    claims = w.claim(owned)
    assert ids(claims) == ["a"]
    owned.run(own.hand_back(owned.ownership, [b"a"]))
    assert w.claim(owned).ids == []  # it is at its gate again
    owned.run(own.finish_stray(owned.ownership, [(b"a", b"", 0, b"")]))  # a late end

    assert w.claim(owned).ids == []  # b goes to its gate
    assert w.claim(owned).ids == []  # and what is behind it waits

    assert admit(owned) == 1
    claims = w.claim(owned)
    assert ids(claims) == ["b"]
    w.finish(owned, claims)
    assert ids(w.claim(owned)) == ["plain"]


def test_a_serial_group_finds_its_turn_behind_many_ids_whose_jobs_ended(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("ended", 12), limits=b"mail")
    late = [(i.encode(), b"", 0, b"") for i in w.names("ended", 12)]
    owned.run(own.finish_stray(owned.ownership, late))
    configure(world, serial=True)
    w.enqueue(world, ["a"], limits=b"mail")
    w.enqueue(world, ["plain"])
    assert w.claim(owned).ids == []  # a goes to its gate

    while admit(owned):
        pass
    claims = w.claim(owned)

    assert ids(claims) == ["a"]
    w.finish(owned, claims)
    assert ids(w.claim(owned)) == ["plain"]


def test_a_serial_group_sends_nothing_past_what_an_earlier_owner_admitted(world: World) -> None:
    first = world.own(lease_s=10)
    w.enqueue(world, ["a", "b"], limits=b"mail")
    configure(world, serial=True)
    assert admit(first) == 1
    world.advance(11)
    second = world.own()

    assert admit(second) == 0

    assert w.claim(second).ids == []
    assert admit(second) == 1
    assert ids(w.claim(second)) == ["a"]
