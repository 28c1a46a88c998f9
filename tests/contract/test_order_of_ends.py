"""Ends of one job come in another order than they happened.

Its slot may move between two of them, and then two owners tell the batch, each of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from queuepool.models.flows import EndOf
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.operator.editing import edit
from tests.contract import world as w
from tests.contract.batches import has_started, notes, open_batch, relay, results, status, tell
from tests.contract.world import World


def pass_by(_world: World, _job: str) -> None:
    """Let it run as it is."""


def edit_it(world: World, job: str) -> None:
    for n in range(2):
        _, body = world.partition.run(edit(job))
        assert world.partition.run(edit(job, body, b'["t",{"n":%d}]' % n))[0] == "edited"


def wait_and_edit(world: World, job: str) -> None:
    world.advance(1)
    edit_it(world, job)


def die(owned: OwnedPartition, job: str) -> None:
    w.claim(owned)
    w.bury(owned, [job.encode()])


@pytest.mark.parametrize("ahead_s", [0, 60])
@pytest.mark.parametrize("change", [pass_by, edit_it, wait_and_edit])
def test_a_return_that_is_told_after_the_next_death_is_old_news(
    world: World, change: Callable[[World, str], None], ahead_s: int
) -> None:
    owned = world.own()
    [job] = open_batch(world, 1)
    if world.clock is None:
        world.advance(-ahead_s)  # the clock went back
    die(owned, job)
    world.partition.run(operate.replay([job]))
    change(world, job)
    die(owned, job)
    first, back, second = notes(owned)
    assert (first.end, back.end, second.end) == (b"x", b"r", b"x")

    assert [tell(owned, [note]) for note in (first, second, back)] == [1, 0, 0]

    assert (status(world).dead, [r.end for r in results(world)]) == (1, [EndOf.DEAD])
    owned.run(telling.tend_batches(owned.ownership))
    assert has_started(owned)


def test_one_that_returned_twice_is_where_it_is_in_any_order(world: World) -> None:
    owned = world.own()
    [job] = open_batch(world, 1, "wait")
    for _ in range(2):
        die(owned, job)
        world.partition.run(operate.replay([job]))
    told = notes(owned)
    orders = list(permutations(told))
    for number, order in enumerate(orders, 1):
        ends = [(f"AAb{number:011}", 0, note.end, note.stamp, note.text) for note in order]
        batch = ends[0][0]
        open_batch(world, 0, "wait", batch=batch, seal=False)
        world.partition.run(flow.seal_batch(batch, 1))
        for end in ends:
            owned.run(telling.note_ends([end]))
        found = [r.end for r in results(world, batch)]
        assert (status(world, batch).dead, found) == (0, [EndOf.OPEN]), [n.end for n in order]
    die(owned, job)
    relay(owned)
    assert status(world).dead == 1
