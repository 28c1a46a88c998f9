"""What an owner reports of its limits: what they let through, counted once."""

from __future__ import annotations

import pytest

from consumer.core.jobs import End, Outcome, claimed
from queuepool.models import Limit
from queuepool.models.limit_use import REST, LimitUse
from queuepool.verbs.owner.limit_uses import MOST, read_limit_uses
from tests.unit.consumer.core.limits.world import World


def told(world: World) -> dict[str, LimitUse]:
    """Return the report, as a coordinator reads it."""
    text = world.keeper.uses.text(world.clock()).encode()
    return {one.name: one for one in read_limit_uses(text)}


def rate(per_s: int) -> str:
    """Return what code declares of a limit with this rate."""
    return Limit("any", rate=per_s).definition


def run(world: World, cycles: int = 20) -> None:
    """Ask and admit for a while; what is admitted is claimed at once."""
    for _ in range(cycles):
        world.ask()
        world.admit()
        world.clock.advance(0.05)


def test_where_no_job_is_at_a_limit_nothing_is_reported() -> None:
    assert World().keeper.uses.text(0.0) == ""


def test_a_rate_is_reported_with_the_jobs_that_wait_for_it() -> None:
    world = World(mail=rate(40))
    world.parked(mail=500)

    run(world)

    use = told(world)["mail"]
    assert use.granted_per_s == pytest.approx(40, rel=0.01)
    assert use.parked == world.keeper.gates.known["mail"].parked > 400


def test_jobs_that_ended_count_with_the_time_that_they_took() -> None:
    world = World(mail=rate(40))
    world.parked(mail=500)
    run(world, 2)
    ran = [claimed(b"1", b"", 1, 0, 0, 0.0), claimed(b"of no limit", b"", 1, 0, 0, 0.0)]

    world.keeper.purse.on_ended([Outcome(job, End.DONE, 3.0, 3.5) for job in ran])
    world.keeper.purse.on_ended([Outcome(ran[0], End.HAND_BACK, 3.0, 3.5)])

    use = told(world)["mail"]
    assert (use.finished_total, use.service_s_total) == (1, 0.5)


def test_a_limit_of_running_jobs_grants_nothing_more() -> None:
    world = World(mail=Limit("mail", concurrency=3).definition)
    world.parked(mail=500)

    run(world)

    assert told(world)["mail"].granted_per_s == 0


def test_what_one_limit_lets_through_for_many_gates_is_counted_once() -> None:
    world = World(smtp=rate(40), **{f"of-{n}": rate(10) for n in range(9)})
    world.parked(**{f"of-{n}__smtp": 50 for n in range(9)})

    run(world)

    uses = told(world)
    assert sum(one.granted_per_s for one in uses.values()) == pytest.approx(40, rel=0.05)
    assert set(uses) == {"smtp"}  # which is short, not those of each customer


def test_the_tightest_limit_of_a_job_is_what_it_waits_for() -> None:
    world = World(wide=rate(200), narrow=rate(5))
    world.parked(narrow__wide=300)

    run(world, 60)

    assert told(world)["narrow"].granted_per_s == pytest.approx(5, rel=0.05)
    assert "wide" not in told(world)


def test_of_many_limits_the_rest_is_reported_together() -> None:
    names = [f"of-{n}" for n in range(MOST + 5)]
    world = World(**dict.fromkeys(names, rate(10)))
    world.parked(**dict.fromkeys(names, 50))

    run(world)

    uses = told(world)
    assert len(uses) == MOST + 1
    assert uses[REST].granted_per_s == pytest.approx(5 * 10, rel=0.05)


def test_what_cannot_be_read_is_left_out() -> None:
    text = (
        b"1 2000 3 4000 good,-1 2 3 4 bad,1 2 3 x,9 9 9 9 a b,1 2 3 4 ,1 1 1 1 \xff,," + b"1" * 99
    )

    [use] = read_limit_uses(text)

    assert (use.name, use.parked, use.granted_per_s, use.service_s_total) == ("good", 1, 2.0, 4.0)
