"""Which parked jobs an owner admits, over gates and homes in memory."""

from __future__ import annotations

from typing import Any

import pytest

from consumer.core.limits.gatekeeper import Gatekeeper, HomeCall
from queuepool.models import Limit
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import FakeClock, MemoryPool
from queuepool.verbs.limits import verbs as homes
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.owner.replies import Admitted, Gate


class World:
    """A gatekeeper, and a partition that is the home of all limits."""

    def __init__(self, **definitions: str) -> None:
        self.clock = FakeClock()
        self.pool = MemoryPool(clock=self.clock)
        self.partition = self.pool.partition(0)
        owned = self.partition.acquire(lease_s=100, host="test")
        assert isinstance(owned, OwnedPartition)
        self.keeper = Gatekeeper(owned.ownership, lambda name: definitions.get(name, ""))
        self.admitted = 0

    def parked(self, *, waiting: int = 0, **gates: int) -> None:
        """Tell of jobs at gates; "__" in a name is the comma between limits."""
        found = (Gate(name.replace("__", ","), n, waiting) for name, n in gates.items())
        self.keeper.on_gates(found, armed=False)

    def ask(self) -> list[HomeCall]:
        """Make the calls that are due; return them."""
        calls = self.keeper.calls(self.clock())
        for call in calls:
            [reply] = self.partition.server.run(self.partition.key, [call.verb])
            self.keeper.on_reply(call, reply, self.clock())
        return calls

    def admit(self) -> dict[str, int]:
        """Admit what may be, all of which is claimed at once; return by gate how many."""
        found = self.keeper.plan(self.clock())
        for name, jobs, _most in found:
            left = self.keeper._gates[name].parked - jobs
            reply = Admitted(jobs, jobs, left, 0)
            self.keeper.on_admitted(name, jobs, reply, self.clock(), armed=False)
            for _ in range(jobs):
                self.admitted += 1
                self.keeper.on_claimed([b"%d" % self.admitted, name.encode()])
        return {name: jobs for name, jobs, _ in found}

    def end(self, *still: int) -> None:
        """End all claimed jobs but these."""
        self.keeper.on_recorded({b"%d" % n for n in still})


def test_nothing_is_asked_or_admitted_without_gates() -> None:
    world = World()
    world.keeper.stale = False

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
    world.keeper.on_admitted("mail", 3, Admitted(3, 3, 7, 0), world.clock(), armed=False)

    world.keeper.on_gates([Gate("mail", 7, 0)], armed=True)  # claimed, but the reply is on its way

    world.ask()
    assert world.keeper.plan(world.clock()) == []
    assert world.keeper.unsure  # or they were cancelled: to be read again after that reply
    world.keeper.on_claimed([b"1", b"mail", b"2", b"mail", b"3", b"mail"])
    assert world.keeper.plan(world.clock()) == []


def test_a_downstream_that_says_wait_is_passed_on_to_each_limit_of_the_job() -> None:
    world = World(mail=Limit("mail", rate=1000).definition)
    world.parked(mail=5)
    world.ask()
    world.admit()

    world.keeper.on_slow(b"1", 30_000)
    told = [call for call in world.ask() if call.verb.script == "slow"]

    assert [call.name for call in told] == ["mail"]
    status = world.partition.run(homes.find_limit("mail"))
    assert status is not None
    assert 29_000 < status.wait_ms <= 30_000
    world.keeper.on_slow(b"unknown", 1)
    assert [c for c in world.ask() if c.verb.script == "slow"] == []


def test_permits_of_earlier_owners_end_once_none_of_their_jobs_can_run() -> None:
    world = World()
    assert world.ask() == []

    world.keeper.end_earlier_permits()

    assert [call.verb.script for call in world.ask()] == ["end_permits"]
    assert world.ask() == []


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


@pytest.mark.parametrize("gates", [1, 5])
def test_gates_of_one_limit_take_turns(gates: int) -> None:
    world = World(mail=Limit("mail", rate=1000, burst=4).definition)
    names: dict[str, Any] = {f"a{n}__mail": 100 for n in range(gates)}
    world.parked(**names)
    seen: dict[str, int] = {}
    for _ in range(200):
        world.ask()
        for name, jobs in world.admit().items():
            seen[name] = seen.get(name, 0) + jobs
        world.end()
        world.clock.advance(0.002)

    assert len(seen) == gates
    assert max(seen.values()) - min(seen.values()) <= 0.2 * max(seen.values()) + 5


def test_a_page_of_gates_is_read_from_the_partition() -> None:
    world = World()

    page = world.partition.run(own.gates())

    assert (page.cursor, page.earlier, page.admitted, page.gates) == (b"0", 0, 0, ())
