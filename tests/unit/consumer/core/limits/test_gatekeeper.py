"""Which parked jobs an owner admits, over gates and homes in memory."""

from __future__ import annotations

from typing import Any

import pytest

from consumer.core.limits import gates as known
from consumer.core.limits.share import Share
from consumer.core.remote_call import ToLimit
from queuepool.errors import UnavailableError
from queuepool.models import Limit
from queuepool.verbs.limits import verbs as homes
from queuepool.verbs.owner.gates import Admitted, Gate, gates
from tests.unit.consumer.core.limits.world import World


@pytest.mark.parametrize("gate", ["mail,mail", "a,,a", "mail,", "x" * 259])
def test_a_gate_whose_name_is_not_as_ours_admits_and_is_forgotten(gate: str) -> None:
    world = World()

    world.keeper.on_gates([Gate(gate, 2, 0)], armed=False)
    world.ask()
    assert world.admit() == {gate: 2}
    world.end()

    assert not world.keeper.gates.known


def test_a_claimed_job_of_a_gate_that_is_none_starts_as_one_without_limits() -> None:
    world = World()

    refused = world.keeper.on_claimed([b"a", b",,", b"b", b"\xff"], 0.0)
    world.end()

    assert not refused
    assert not world.keeper.gates.known


def test_nothing_is_asked_or_admitted_without_gates() -> None:
    world = World()

    assert world.ask() == []
    assert world.admit() == {}
    assert world.keeper.next_s(0.0) == float("inf")


def test_a_limit_that_nobody_defined_bounds_nothing() -> None:
    world = World()
    world.parked(mail=7)
    assert world.admit() == {}

    world.ask()

    assert world.admit() == {"mail": 7}


def test_a_rate_is_kept_whatever_waits() -> None:
    world = World(mail=Limit("mail", rate=20, burst=5).definition)
    world.parked(mail=10_000)
    started = 0
    for _ in range(2000):
        world.ask()
        started += sum(world.admit().values())
        world.end()
        world.clock.advance(0.005)

    assert 0.97 * 20 * 10 <= started <= 20 * 10 + 5


def test_a_concurrency_is_never_exceeded_and_used_fully() -> None:
    world = World(mail=Limit("mail", concurrency=3).definition)
    world.parked(mail=100)
    world.ask()

    assert world.admit() == {"mail": 3}
    world.ask()
    assert world.admit() == {}
    world.end(2, 3)
    world.ask()
    assert world.admit() == {"mail": 1}


@pytest.mark.parametrize("rate", [None, 1000])
def test_jobs_that_ran_before_their_limit_got_a_concurrency_are_counted(rate: int | None) -> None:
    world = World(mail=Limit("mail", rate=rate).definition if rate else "")
    world.parked(mail=3)
    world.ask()
    assert world.admit() == {"mail": 3}
    world.ask()
    assert world.keeper.next_s(world.clock()) > world.clock() + 1
    world.partition.run(homes.set_limit(Limit("mail", concurrency=3)))
    world.clock.advance(5.1)
    assert world.keeper.next_s(world.clock()) <= world.clock()

    assert [call.verb.script for call in world.ask()] == ["ask"]

    status = world.partition.run(homes.find_limit("mail"))
    assert status is not None
    assert status.running == 3
    world.parked(mail=1)
    world.ask()
    assert world.admit() == {}
    world.end(1, 2)
    world.ask()
    assert world.admit() == {"mail": 1}


def test_nothing_is_asked_once_no_job_of_a_limit_runs() -> None:
    world = World()
    world.parked(mail=3)
    world.ask()
    world.admit()
    world.end()
    world.ask()

    assert world.keeper.next_s(world.clock()) == float("inf")


def test_all_limits_of_a_gate_must_grant_and_none_is_spent_otherwise() -> None:
    world = World(
        api=Limit("api", rate=1000, burst=50).definition,
        mail=Limit("mail", rate=1, burst=1).definition,
    )
    world.parked(api__mail=50, api=50)
    for _ in range(3):
        world.ask()

    first = world.admit()

    assert first["api,mail"] == 1
    assert first["api"] >= 9


def test_jobs_admitted_and_not_claimed_are_bounded_by_the_rate() -> None:
    world = World(mail=Limit("mail", rate=1000, burst=1000).definition)
    world.parked(mail=5000)
    world.ask()

    [(_, jobs, most)] = world.keeper.plan(world.clock())

    assert jobs <= most <= 100
    world.parked(mail=5000 - jobs, waiting=most)
    assert world.keeper.plan(world.clock()) == []


def test_a_claim_whose_reply_is_still_to_come_frees_no_permit() -> None:
    world = World(mail=Limit("mail", concurrency=3).definition)
    world.parked(mail=10)
    world.ask()
    assert [jobs for _, jobs, _ in world.keeper.plan(world.clock())] == [3]
    world.keeper.on_admitted(Admitted("mail", 3, 3, 3, 7, 0), world.clock(), claims=False)

    world.keeper.on_gates([Gate("mail", 7, 0)], armed=True)  # claimed, but the reply is on its way

    world.ask()
    assert world.keeper.plan(world.clock()) == []
    assert world.keeper.unsure  # or they were cancelled: to be read again after that reply
    world.keeper.on_claimed([b"1", b"mail", b"2", b"mail", b"3", b"mail"], world.clock())
    assert world.keeper.plan(world.clock()) == []


def test_a_claim_that_comes_before_the_admission_of_its_turn_frees_no_permit() -> None:
    """A server that lost the script of admit runs it after the claim, whose reply follows."""
    world = World(mail=Limit("mail", concurrency=5).definition)
    world.parked(mail=3)
    world.ask()
    assert world.admit_unclaimed() == {"mail": 3}
    world.parked(mail=9, waiting=3)
    world.ask()
    [(name, jobs, _)] = world.keeper.plan(world.clock())
    assert jobs == 2

    # The claim took three jobs, then one more was admitted
    world.keeper.on_admitted(Admitted(name, 2, 1, 1, 8, 0), world.clock(), claims=True)
    assert world.keeper.unsure
    world.keeper.on_claimed([b"1", b"mail", b"2", b"mail", b"3", b"mail"], world.clock())

    world.ask()
    assert [n for _, n, _ in world.keeper.plan(world.clock())] == [1]  # four are in use


def test_a_downstream_that_says_wait_is_passed_on_to_each_limit_of_the_job() -> None:
    world = World(mail=Limit("mail", rate=1000).definition)
    world.parked(mail=5)
    world.ask()
    world.admit()

    world.keeper.purse.on_slow(b"1", 30_000, world.clock())
    told = [call for call in world.ask() if call.verb.script == "slow"]

    assert [call.to for call in told] == [ToLimit("mail")]
    status = world.partition.run(homes.find_limit("mail"))
    assert status is not None
    assert 29_000 < status.wait_ms <= 30_000
    world.keeper.purse.on_slow(b"unknown", 1, world.clock())
    assert [c for c in world.ask() if c.verb.script == "slow"] == []


def test_a_wait_that_a_home_did_not_hear_of_is_passed_on_again() -> None:
    world = World(mail=Limit("mail", rate="adaptive", least=10, most=100).definition)
    world.parked(mail=5)
    world.ask()
    world.admit()
    world.keeper.purse.on_slow(b"1", 30_000, world.clock())
    lost = [call for call in world.keeper.calls(world.clock()) if call.verb.script == "slow"]
    for call in lost:
        world.keeper.on_reply(call, UnavailableError("away"), world.clock())
    world.clock.advance(5)
    assert world.keeper.next_s(world.clock()) <= world.clock()

    scripts = [call.verb.script for call in world.ask()]

    assert len(lost) == scripts.count("slow") == 1
    assert "ask" not in scripts[: scripts.index("slow")]
    status = world.partition.run(homes.find_limit("mail"))
    assert status is not None
    assert 24_000 < status.wait_ms <= 25_000
    assert "slow" not in [call.verb.script for call in world.ask()]


def test_permits_of_earlier_owners_end_once_none_of_their_jobs_can_run() -> None:
    world = World()
    assert world.ask() == []

    world.keeper.earlier.on_quiet(used=True)

    assert [call.verb.script for call in world.ask()] == ["end_permits"]
    assert world.ask() == []


def test_gates_that_a_whole_reading_does_not_list_hold_no_permits() -> None:
    world = World(mail=Limit("mail", concurrency=2).definition)
    world.parked(a__mail=1, mail=1)
    world.ask()
    assert set(world.admit_unclaimed()) == {"a,mail", "mail"}
    world.parked(mail=3, waiting=1)  # the job admitted at the other gate was cancelled

    world.ask()

    assert world.admit_unclaimed() == {"mail": 1}


@pytest.mark.parametrize(("armed", "last"), [(True, True), (False, False)])
def test_a_part_of_a_reading_proves_nothing_of_the_gates_that_it_does_not_list(
    armed: bool, last: bool
) -> None:
    world = World(mail=Limit("mail", concurrency=2).definition)
    world.parked(a__mail=1, mail=1)
    world.ask()
    world.admit_unclaimed()

    world.keeper.on_gates([Gate("mail", 3, 1)], armed=armed, last=last)

    world.ask()
    assert world.admit_unclaimed() == {}


def test_pages_of_one_reading_are_one_reading() -> None:
    world = World(mail=Limit("mail", concurrency=2).definition)
    world.parked(a__mail=1, mail=1)
    world.ask()
    world.admit_unclaimed()

    world.keeper.on_gates([Gate("a,mail", 0, 1)], armed=False, last=False)
    world.keeper.on_gates([Gate("mail", 3, 1)], armed=False, first=False)

    world.ask()
    assert world.admit_unclaimed() == {}


def test_nothing_is_admitted_while_it_is_unknown_what_a_lost_turn_admitted() -> None:
    world = World(mail=Limit("mail", concurrency=3).definition)
    world.parked(mail=100)
    world.ask()
    assert [jobs for _, jobs, _ in world.keeper.plan(world.clock())] == [3]

    world.keeper.on_no_reply()

    world.keeper.on_recorded(set())
    world.ask()
    assert world.keeper.plan(world.clock()) == []
    world.parked(mail=98, waiting=2)  # one was not admitted
    world.ask()
    assert [jobs for _, jobs, _ in world.keeper.plan(world.clock())] == [1]


def test_a_lost_turn_that_admitted_nothing_costs_no_permit() -> None:
    world = World(mail=Limit("mail", concurrency=3).definition)
    world.parked(mail=100)
    world.ask()
    world.keeper.plan(world.clock())
    world.keeper.on_no_reply()

    world.parked(mail=100)

    world.ask()
    assert [jobs for _, jobs, _ in world.keeper.plan(world.clock())] == [3]


def test_what_one_limit_grants_is_not_wasted_while_another_admits_nothing() -> None:
    world = World(
        api=Limit("api", rate=100, burst=100).definition,
        mail=Limit("mail", rate=1, burst=1).definition,
    )
    world.partition.run(homes.set_limit(Limit("mail", rate=1)))
    world.partition.run(homes.pause_limit("mail", on=True))
    world.parked(api__mail=1000)
    asked = [call for _ in range(2) for call in world.ask()]
    world.clock.advance(0.01)
    for _ in range(500):
        asked += world.ask()
        assert world.admit() == {}
        world.clock.advance(0.02)

    status = world.partition.run(homes.find_limit("api"))
    assert status is not None
    assert status.granted <= 200  # of the 1,000 that it could have in 10 s
    world.partition.run(homes.pause_limit("mail", on=False))
    started = 0
    for _ in range(500):
        world.ask()
        started += sum(world.admit().values())
        world.clock.advance(0.02)
    assert started >= 9


@pytest.mark.thorough
def test_a_look_at_many_gates_costs_what_changed() -> None:
    world = World()
    names = {f"account-{n}": 1 for n in range(5000)}
    for name in names:
        world.partition.run(homes.set_limit(Limit(name, rate=1, per_s=1000, burst=1)))
    world.parked(**names)
    world.ask()
    while world.admit():
        pass
    world.end()
    world.parked(**names)
    world.ask()
    world.keeper.next_s(world.clock())  # all changed
    world.clock.advance(0.1)
    looked = 0
    ready = Share.ready

    def counted(share: Share, now_s: float) -> int:
        nonlocal looked
        looked += 1
        return ready(share, now_s)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Share, "ready", counted)
        for _ in range(10):
            world.keeper.next_s(world.clock())
            assert world.admit() == {}

    assert looked < 100


def test_more_gates_than_are_known_at_once_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "MOST", 10)
    world = World()
    left = {f"account-{n}": 2 for n in range(25)}
    readings = 0
    while left:
        readings += 1
        assert readings < 50
        pages = [list(left)[n : n + 5] for n in range(0, len(left), 5)]
        for number, page in enumerate(pages):
            found = [Gate(name, left[name], 0) for name in page]
            world.keeper.on_gates(
                found, armed=False, first=number == 0, last=number == len(pages) - 1
            )
            assert len(world.keeper.gates.known) <= 10
            world.ask()
            for name, jobs in world.admit().items():
                left[name] -= jobs
                if not left[name]:
                    del left[name]
            world.end()


def test_a_gate_where_no_group_may_run_is_left_alone_for_a_while() -> None:
    world = World()
    world.parked(mail=5)
    world.ask()
    planned = at_once = 0
    for _ in range(1000):
        for name, jobs, _most in world.keeper.plan(world.clock()):
            planned += 1
            reply = Admitted(name, jobs, 0, 0, 5, 0)  # all of them of groups without room
            world.keeper.on_admitted(reply, world.clock(), claims=False)
        world.ask()
        at_once += world.keeper.next_s(world.clock()) <= world.clock()
        world.clock.advance(0.01)

    assert 30 <= planned <= 50  # in 10 s: after 20 ms, 40 ms ... and then every 250 ms
    assert at_once <= 5  # its tokens are void after 2 s: it asks for others


def test_the_end_of_a_job_ends_the_rest_of_a_gate() -> None:
    world = World()
    world.parked(mail=5)
    world.ask()
    [(name, jobs, _)] = world.keeper.plan(world.clock())
    world.keeper.on_admitted(Admitted(name, jobs, 1, 1, 4, 0), world.clock(), claims=False)
    world.keeper.on_claimed([b"1", b"mail"], world.clock())
    [(name, jobs, _)] = world.keeper.plan(world.clock())
    world.keeper.on_admitted(Admitted(name, jobs, 0, 0, 4, 0), world.clock(), claims=False)
    assert world.keeper.plan(world.clock()) == []

    world.end()

    assert [gate for gate, *_ in world.keeper.plan(world.clock())] == ["mail"]


def test_a_draining_owner_admits_nothing_and_gives_its_permits_back() -> None:
    world = World(mail=Limit("mail", concurrency=3).definition)
    world.parked(mail=10)
    world.ask()
    world.admit()
    world.keeper.drain()
    world.end()

    world.ask()

    assert world.admit() == {}
    status = world.partition.run(homes.find_limit("mail"))
    assert status is not None
    assert status.running == 0


@pytest.mark.parametrize("count", [1, 5])
def test_gates_of_one_limit_take_turns(count: int) -> None:
    world = World(mail=Limit("mail", rate=1000, burst=4).definition)
    names: dict[str, Any] = {f"a{n}__mail": 100 for n in range(count)}
    world.parked(**names)
    seen: dict[str, int] = {}
    for _ in range(200):
        world.ask()
        for name, jobs in world.admit().items():
            seen[name] = seen.get(name, 0) + jobs
        world.end()
        world.clock.advance(0.002)

    assert len(seen) == count
    assert max(seen.values()) - min(seen.values()) <= 0.2 * max(seen.values()) + 5


def test_a_page_of_gates_is_read_from_the_partition() -> None:
    world = World()

    page = world.partition.run(gates())

    assert (page.cursor, page.earlier, page.used, page.gates) == (b"0", 0, False, ())


def test_a_job_that_is_handed_back_before_its_start_returns_its_token() -> None:
    world = World(mail=Limit("mail", rate=20, burst=2).definition)
    world.parked(mail=5)
    world.ask()
    assert world.admit() == {"mail": 2}
    assert world.admit() == {}

    world.keeper.on_recorded({b"1"}, [b"2"])

    assert world.admit() == {"mail": 1}
    world.keeper.on_recorded({b"1"}, [])
    assert world.admit() == {}, "a job that started keeps its token"
