"""Steps of a flow: a step tells its followers the outcome of its jobs, each change once."""

from __future__ import annotations

import pytest

from queuepool.models import JobState
from queuepool.models.flows import BatchState, EndOf, OnFailure
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol.graphs import encode_steps
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.batches import DAY_MS, finish, has_started, ids_of, notes, status, tell
from tests.contract.snapshot import snapshot
from tests.contract.test_wakeups import forget_tokens
from tests.contract.world import World

STEP, GATE, OTHER, FLOW = (f"AAabcdefghi{number:0>3}" for number in (1, 2, 3, 0))


def open_step(world: World, jobs: int, *, tells: tuple[str, ...] = (f"{GATE}~0",)) -> list[str]:
    """Define a step of so many jobs, and enqueue them; returns their ids."""
    verb = flow.open_batch(
        STEP, "", on_failure="partial", on_deadline="partial", deadline_ms=2 * DAY_MS,
        keep_ms=DAY_MS, called="load", within=FLOW, part="s", tells=tells,
    )  # fmt: skip
    assert world.partition.run(verb).is_new
    ids = ids_of(jobs, STEP)
    w.enqueue(world, ids)
    world.partition.run(flow.seal_batch(STEP, jobs))
    return ids


def open_gate(
    world: World, gate: str = GATE, on_failure: OnFailure = "partial", *, seal: int | None = 1
) -> None:
    """Define what a job waits for, and store it. seal: how many steps it waits for."""
    verb = flow.open_batch(
        gate, gate, on_failure=on_failure, on_deadline="partial", deadline_ms=DAY_MS, keep_ms=0,
        within=FLOW, part="g", graph=encode_steps([("load", STEP)]),
    )  # fmt: skip
    assert world.partition.run(verb).is_new
    w.enqueue(world, [gate], b"then", delay_ms=2 * DAY_MS)
    if seal is not None:
        assert world.partition.run(flow.seal_batch(gate, seal)) == 1


def relay(owned: OwnedPartition) -> list[bytes]:
    """Tell all ends until there are none, and conclude; returns what the step told."""
    told = []
    while some := notes(owned):
        told += [note.end for note in some if GATE in note.job_id or OTHER in note.job_id]
        tell(owned, some)
        owned.run(telling.untold(owned.ownership, told=[note.entry for note in some]))
    owned.run(telling.tend_batches(owned.ownership))
    return told


def test_a_step_tells_all_that_follow_it_once_its_jobs_are_done(world: World) -> None:
    owned = world.own()
    open_gate(world)
    open_gate(world, OTHER)
    open_step(world, 2, tells=(f"{GATE}~0", f"{OTHER}~0"))
    claims = w.claim(owned)
    finish(owned, claims, 0)
    assert relay(owned) == []

    finish(owned, claims, 1)

    assert relay(owned) == [b"d", b"d"]
    assert status(world, STEP).state is BatchState.FIRED
    w.promote(owned)
    assert sorted(w.claim(owned).ids) == [GATE.encode(), OTHER.encode()]


def test_a_flow_is_done_when_its_steps_are(world: World) -> None:
    owned = world.own()
    verb = flow.open_batch(
        FLOW, "", on_failure="partial", on_deadline="partial", deadline_ms=DAY_MS, keep_ms=0,
        called="nightly", part="f", graph=b"{}",
    )  # fmt: skip
    world.partition.run(verb)
    world.partition.run(flow.seal_batch(FLOW, 1))
    open_step(world, 1, tells=(f"{FLOW}~0",))
    finish(owned, w.claim(owned))
    tell(owned, notes(owned))
    assert status(world, FLOW).state is BatchState.OPEN
    owned.run(telling.untold(owned.ownership, told=[note.entry for note in notes(owned)[:1]]))

    tell(owned, notes(owned))

    assert status(world, FLOW).state is BatchState.FIRED
    assert (status(world, FLOW).part, status(world, FLOW).graph) == ("f", b"{}")


def test_the_owner_is_woken_to_pass_an_outcome_on(world: World) -> None:
    owned = world.own()
    open_gate(world)
    open_step(world, 1)
    finish(owned, w.claim(owned))
    ends = notes(owned)
    owned.run(telling.untold(owned.ownership, told=[note.entry for note in ends]))
    forget_tokens(world)

    tell(owned, ends)

    assert b"f" in snapshot(world)["tokens"]


def test_a_gate_waits_for_all_its_steps(world: World) -> None:
    owned = world.own()
    open_gate(world, seal=2)
    open_step(world, 1, tells=(f"{GATE}~1",))
    finish(owned, w.claim(owned))

    assert relay(owned) == [b"d"]

    assert not has_started(owned, GATE)
    assert (status(world, GATE).done, status(world, GATE).left) == (1, 1)


def test_a_step_that_is_told_twice_tells_once(world: World) -> None:
    owned = world.own()
    open_gate(world)
    open_step(world, 1)
    finish(owned, w.claim(owned))
    first = notes(owned)
    for _ in range(3):
        tell(owned, first)
    second = [note for note in notes(owned) if GATE in note.job_id]

    assert len(second) == 1
    assert [tell(owned, second) for _ in range(2)] == [1, 0]


def test_a_step_whose_jobs_end_before_it_is_sealed_tells_then(world: World) -> None:
    owned = world.own()
    open_gate(world)
    verb = flow.open_batch(
        STEP, "", on_failure="partial", on_deadline="partial", deadline_ms=DAY_MS, keep_ms=0,
        part="s", tells=[f"{GATE}~0"],
    )  # fmt: skip
    world.partition.run(verb)
    w.enqueue(world, ids_of(1, STEP))
    finish(owned, w.claim(owned))
    assert relay(owned) == []

    world.partition.run(flow.seal_batch(STEP, 1))

    assert relay(owned) == [b"d"]


def test_a_step_with_a_dead_job_fails_what_follows_it(world: World) -> None:
    owned = world.own()
    open_gate(world, on_failure="fail")
    open_step(world, 2)
    claims = w.claim(owned)
    finish(owned, claims, 0)
    w.bury(owned, [claims.ids[1]])

    assert relay(owned) == [b"x"]

    assert status(world, STEP).state is BatchState.FAILED
    dead = world.partition.status(GATE)
    assert dead.state is JobState.DEAD
    assert dead.error is not None
    assert dead.error.message.startswith("of 1 steps that it follows, 0 are done, 1 dead")


def dead_step(world: World) -> tuple[OwnedPartition, list[str]]:
    """Open a step whose only job is dead, and a gate that waits for it."""
    owned = world.own()
    open_gate(world, on_failure="wait")
    ids = open_step(world, 1)
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    return owned, ids


def test_a_replay_takes_back_what_a_step_told(world: World) -> None:
    owned, ids = dead_step(world)
    assert relay(owned) == [b"x"]
    for again in range(2):
        world.advance(1)
        world.partition.run(operate.replay(ids))
        assert relay(owned) == [b"r"]
        assert (status(world, STEP).state, status(world, GATE).dead) == (BatchState.OPEN, 0)
        claims = w.claim(owned)
        assert not has_started(owned, GATE)
        if again:
            finish(owned, claims)
        else:
            w.bury(owned, claims.ids)
            assert relay(owned) == [b"x"]

    assert relay(owned) == [b"d"]
    assert has_started(owned, GATE)


def test_a_step_whose_dead_job_is_discarded_is_lost(world: World) -> None:
    owned, ids = dead_step(world)
    relay(owned)
    assert not has_started(owned, GATE)

    world.partition.run(operate.discard(ids))

    assert relay(owned) == [b"g"]
    assert (status(world, GATE).dead, status(world, GATE).lost) == (0, 1)
    assert has_started(owned, GATE)


@pytest.mark.parametrize("noted", ["return", "child"])
def test_a_dead_job_that_runs_again_adds_jobs_before_its_return_is_noted(
    world: World, noted: str
) -> None:
    owned, ids = dead_step(world)
    assert relay(owned) == [b"x"]
    world.advance(1)
    world.partition.run(operate.replay(ids))
    returned, child = w.claim(owned), ids_of(2, STEP)[1]

    assert world.partition.run(flow.grow_batch(STEP, "0:1", 1)) == flow.Grown(1, 1)

    [back] = notes(owned)
    w.enqueue(world, [child])
    if noted == "child":  # as from another partition, whose owner is faster
        owned.run(telling.untold(owned.ownership, told=[back.entry]))
        finish(owned, w.claim(owned))
        assert relay(owned) == []
        tell(owned, [back])
        assert relay(owned) == [b"r"]
    else:
        assert relay(owned) == [b"r"]
        finish(owned, w.claim(owned))
        assert relay(owned) == []
    assert not has_started(owned, GATE)
    finish(owned, returned)
    assert relay(owned) == [b"d"]
    assert has_started(owned, GATE)
    assert (status(world, STEP).total, status(world, STEP).done) == (2, 2)


def test_nothing_is_added_to_a_step_of_which_no_job_can_come_back(world: World) -> None:
    owned = world.own()
    ids = open_step(world, 1)
    w.claim(owned)
    w.bury(owned, [i.encode() for i in ids])
    relay(owned)
    world.partition.run(operate.discard(ids))
    relay(owned)

    refused = world.partition.run(flow.grow_batch(STEP, "0:1", 1))

    assert (refused.refused, refused.state) == ("OVER", BatchState.FAILED)


def test_what_is_enqueued_in_part_runs_at_no_deadline(world: World) -> None:
    owned = world.own()
    open_gate(world, seal=None)
    world.advance(DAY_MS / 1000 + 1)
    relay(owned)

    assert not has_started(owned, GATE)
    assert world.partition.status(GATE).state is JobState.DEAD


def test_the_deadline_of_a_gate_lets_its_job_go(world: World) -> None:
    owned = world.own()
    open_gate(world)
    open_step(world, 1)
    world.advance(DAY_MS / 1000 + 1)
    relay(owned)

    assert has_started(owned, GATE)
    assert status(world, STEP).state is BatchState.OPEN


def test_a_gate_names_its_steps_instead_of_results(world: World) -> None:
    world.own()
    open_gate(world)

    page = world.partition.run(flow.batch_results(GATE, 0))

    assert (page.steps, page.found, page.next_number) == ((("load", STEP),), (), 1)
    assert world.partition.run(flow.batch_results(STEP, 0)).steps == ()


@pytest.mark.parametrize("ended", [True, False])
def test_a_step_is_forgotten_when_its_time_is_over(world: World, ended: bool) -> None:
    owned = world.own()
    open_step(world, 1)
    claims = w.claim(owned)
    if ended:
        finish(owned, claims)
        relay(owned)
    assert owned.run(telling.tend_batches(owned.ownership)).forgotten == 0

    world.advance(2 * DAY_MS / 1000 + 1)

    assert owned.run(telling.tend_batches(owned.ownership)).forgotten == 1
    assert status(world, STEP).state is BatchState.UNKNOWN
    if not ended:
        finish(owned, claims)
        assert relay(owned) == []


@pytest.mark.parametrize("at_once", [1, 200])
def test_one_look_cancels_the_jobs_of_all_steps(world: World, at_once: int) -> None:
    world.own()
    open_gate(world)
    open_step(world, 3)
    w.enqueue(world, ids_of(2, OTHER))
    w.enqueue(world, [*ids_of(1, "AAzzzzzzzzz001"), "alone", f"x{STEP}~0", f"CC{STEP}"])
    for batch in (GATE, STEP):
        world.partition.run(flow.cancel_batch(batch))

    cursor, gone = b"0", 0
    while True:
        verb = flow.cancel_children([STEP, "AAabsent000000", OTHER], cursor, at_once)
        cursor, some, _asked, _ = world.partition.run(verb)
        gone += some
        if cursor == b"0":
            break

    assert gone == 5
    for job_id in ("CCAAzzzzzzzzz001~0", "alone", f"x{STEP}~0", f"CC{STEP}"):
        assert world.partition.run(produce.status(job_id, 0, 1)).state is JobState.READY


def test_a_cancelled_step_tells_nothing(world: World) -> None:
    owned = world.own()
    open_gate(world)
    open_step(world, 1)
    world.partition.run(flow.cancel_batch(STEP))
    finish(owned, w.claim(owned))

    assert relay(owned) == []
    assert status(world, STEP).state is BatchState.CANCELLED


def test_a_result_of_a_step_is_kept(world: World) -> None:
    owned = world.own()
    ids = open_step(world, 2)
    finish(owned, w.claim(owned))
    relay(owned)

    page = world.partition.run(flow.batch_results(STEP, 0))

    assert [(each.end, each.result) for each in page.found] == [
        (EndOf.DONE, f"r-{job_id}") for job_id in ids
    ]
