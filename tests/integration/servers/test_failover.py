"""A real failover that forgets the last writes: what was acknowledged is undone, the rest holds.

The link to the replica is cut silently, work continues, the primary dies, and the replica is
promoted. Whatever was written in between is gone; whoever wrote it still believes in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from copy import copy
from pathlib import Path

import pytest

from queuepool.errors import FencedError
from queuepool.models import JobState
from queuepool.partitions.partition import OwnedPartition
from queuepool.process.embedded import EmbeddedServer
from queuepool.verbs.owner import verbs as own
from tests.chaos.proxy import Proxy
from tests.contract import world as w
from tests.contract.conftest import check_invariants
from tests.contract.world import World, real_world
from tests.replicas import PROMPT, replica_arguments, wait_until_replicating
from tests.waiting import wait_until


class Pair:
    """A primary and its replica. world: the partition, as whoever leads now has it."""

    def __init__(self, binary: Path, stage: str, ending: ExitStack) -> None:
        self._stage, self._ending = stage, ending
        self._primary = ending.enter_context(EmbeddedServer(binary=binary, extra_args=PROMPT))
        self._link = ending.enter_context(Proxy(self._primary.port))
        arguments = replica_arguments(self._link.port)
        self._replica = ending.enter_context(EmbeddedServer(binary=binary, extra_args=arguments))
        self.world = self._world(self._primary)

    def _world(self, server: EmbeddedServer) -> World:
        world = real_world(server.url, self._stage)
        self._ending.callback(world.partition.server.close)
        self._ending.callback(world.client.close)
        return world

    def forget_from_here(self) -> None:
        """What is written from now on will be lost."""
        wait_until_replicating(self._primary)
        self._link.half_open()

    def fail_over(self) -> World:
        """Lose the primary; returns the partition as the promoted replica has it."""
        self._primary.kill()
        self._link.cut()
        self.world = self._world(self._replica)
        self.world.client.replicaof("NO", "ONE")
        return self.world

    def same_life(self, owned: OwnedPartition) -> OwnedPartition:
        """Return an ownership, on whoever leads now."""
        moved = copy(owned)
        moved.partition = self.world.partition
        return moved


@pytest.fixture
def pair(engine_binary: Path, stage: str) -> Iterator[Pair]:
    """A pair of each engine. After the test, nothing impossible may be in the survivor."""
    with ExitStack() as ending:
        pair = Pair(engine_binary, stage, ending)
        yield pair
        check_invariants(pair.world)


def test_a_forgotten_enqueue_is_accepted_again_under_its_id(pair: Pair) -> None:
    w.enqueue(pair.world, ["kept"])
    pair.forget_from_here()
    w.enqueue(pair.world, ["lost"])

    world = pair.fail_over()

    assert world.partition.status("lost").state is JobState.UNKNOWN
    assert w.enqueue(world, ["kept", "lost"]) == b"01"
    assert w.drain(world.own()) == ["kept", "lost"]


def test_an_owner_goes_on_where_the_survivor_is(pair: Pair) -> None:
    owned = pair.world.own()
    w.enqueue(pair.world, ["claimed", "ready", "delayed"])
    first = w.claim(owned, 1)
    w.renew(owned, beat=1)
    pair.forget_from_here()
    w.renew(owned, beat=2)
    second = w.claim(owned, 1)
    w.finish(owned, first, results=True)
    w.enqueue(pair.world, ["lost"])
    third = w.claim(owned)

    world = pair.fail_over()
    owned = pair.same_life(owned)

    assert w.renew(owned, beat=3).rolled_back
    assert w.book(owned) == [b"claimed"]  # its end was forgotten, and so was the second claim
    assert w.finish(owned, first) == own.Finished(1, 0, 0)
    assert w.finish(owned, second) == own.Finished(1, 0, 1)
    assert w.finish(owned, third) == own.Finished(1, 1, 1)  # "delayed" is in its lane, "lost" gone
    assert world.partition.observe().jobs == 0
    assert world.counters()["done"] == 3


def test_an_owner_whose_acquisition_was_forgotten_is_fenced(pair: Pair) -> None:
    before = pair.world.own(lease_s=1.0, nonce="before")
    w.enqueue(pair.world, ["a", "b"])
    w.claim(before, 1)
    pair.forget_from_here()
    before.run(own.release(before.ownership, drain_lease_ms=0))
    forgotten = pair.world.own(nonce="forgotten")
    w.recover(forgotten)
    claims = w.claim(forgotten)

    world = pair.fail_over()
    stale = pair.same_life(forgotten)

    with pytest.raises(FencedError, match="ahead of the server"):
        w.renew(stale)
    with pytest.raises(FencedError):
        w.finish(stale, claims)
    after = _acquired(world)
    assert after.epoch > forgotten.epoch > before.epoch
    assert sum(step.recovered for step in w.recover(after)) == 1
    with pytest.raises(FencedError):
        w.finish(stale, claims)
    assert sorted(w.drain(after)) == ["a", "b"]


def _acquired(world: World) -> OwnedPartition:
    """Acquire once the lease of the one that the survivor remembers has ended."""
    found: list[OwnedPartition] = []

    def tried() -> bool:
        owned = world.partition.acquire(lease_s=60, nonce="after")
        if isinstance(owned, OwnedPartition):
            found.append(owned)
        return bool(found)

    attempt: Callable[[], bool] = tried
    wait_until(attempt, 30.0, "the end of the lease")
    return found[0]
