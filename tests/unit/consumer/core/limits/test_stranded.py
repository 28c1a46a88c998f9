"""Admitted jobs that no claim finds give their permits back, and start only with new ones."""

from __future__ import annotations

from consumer.core.limits.stranded import STRANDED_S
from queuepool.models import Limit
from tests.unit.consumer.core.limits.world import World


def _world() -> World:
    """Make a world in which one job was admitted, and holds the only permit."""
    world = World(mail=Limit("mail", concurrency=1).definition)
    world.parked(mail=5, waiting=0)
    world.ask()
    assert world.admit_unclaimed() == {"mail": 1}
    return world


def _claim(world: World, *limits: bytes, all_found: bool = True) -> set[bytes]:
    return world.keeper.on_claimed(limits, world.clock(), all_found=all_found)


def _strand(world: World) -> None:
    _claim(world)
    world.clock.advance(STRANDED_S)
    assert world.keeper.next_s(world.clock()) <= world.clock()
    world.keeper.plan(world.clock(), most=0)


def test_a_job_that_claims_do_not_find_gives_its_permit_back() -> None:
    world = _world()
    _claim(world)
    world.clock.advance(STRANDED_S - 0.01)
    assert world.admit_unclaimed() == {}
    world.clock.advance(0.01)

    [(name, jobs, most)] = world.keeper.plan(world.clock())

    assert (name, jobs) == ("mail", 1)
    assert most > 1  # the server counts the one that is stranded, too
    assert world.keeper.gates.known["mail"].stranded == 1


def test_a_claim_that_took_all_it_might_tells_nothing_of_those_it_left() -> None:
    world = _world()
    _claim(world)
    world.clock.advance(STRANDED_S / 2)
    _claim(world, all_found=False)
    world.clock.advance(STRANDED_S)

    assert world.admit_unclaimed() == {}
    assert world.keeper.gates.known["mail"].stranded == 0


def test_a_stranded_job_that_is_claimed_starts_only_with_a_permit() -> None:
    world = _world()
    _strand(world)
    assert world.admit() == {"mail": 1}  # another one, which runs

    assert _claim(world, b"stranded", b"mail") == {b"stranded"}

    view = world.keeper.gates.known["mail"]
    assert (view.running, view.waiting, view.stranded) == (1, 0, 0)


def test_a_stranded_job_starts_at_once_when_a_permit_is_free() -> None:
    world = _world()
    _strand(world)

    assert _claim(world, b"stranded", b"mail") == set()

    view = world.keeper.gates.known["mail"]
    assert (view.running, view.stranded) == (1, 0)
    assert world.admit() == {}, "its permit is in use"
    world.keeper.on_recorded(set())
    world.ask()
    assert world.admit() == {"mail": 1}


def test_a_stranded_job_is_not_taken_for_an_admitted_one_by_a_reading() -> None:
    world = _world()
    _strand(world)

    world.parked(mail=4, waiting=1)

    view = world.keeper.gates.known["mail"]
    assert (view.waiting, view.stranded) == (0, 1)


def test_a_stranded_job_that_was_cancelled_is_forgotten() -> None:
    world = _world()
    _strand(world)

    world.parked(mail=4, waiting=0)

    assert world.keeper.gates.known["mail"].stranded == 0


def test_a_gate_where_only_stranded_jobs_are_left_is_still_known() -> None:
    world = _world()
    _strand(world)

    world.parked(mail=0, waiting=1)

    assert _claim(world, b"stranded", b"mail") == set()
    world.keeper.on_recorded(set())
    assert world.keeper.gates.known == {}
