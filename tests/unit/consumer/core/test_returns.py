"""Jobs that go back keep their order, however many turns it takes and whatever was claimed."""

from tests.unit.consumer.core.test_armed import armed
from tests.unit.consumer.core.world import World


def claimed(world: World, jobs: int) -> list[bytes]:
    """Return the ids of jobs of one group that wait for a worker."""
    ids = world.enqueue(jobs)
    while len(world.running) < jobs:
        world.settle()
    for job in world.running:
        job.started_s = 0.0
    return ids


def test_more_than_one_turn_hands_back() -> None:
    world = World(workers=900)
    ids = claimed(world, 900)
    world.core.hand_back(world.running, world.now)
    world.running, world.runs = [], []

    assert world.core.open == 0
    while len(world.runs) < 900:
        world.settle()

    assert world.runs == ids
    world.check()


def test_of_jobs_on_their_way_back_the_one_that_was_claimed_last_goes_first() -> None:
    """Ends of other jobs wait in the same outbox."""
    world = World(workers=450)
    claimed(world, 450)
    ended, returned = world.running[:100], world.running[100:]
    world.end(ended)
    world.core.hand_back(returned, world.now)
    box = world.core.in_flight.outbox

    first, _ = box.pick(10**6, alone=False)
    box.forget(first)
    second, _ = box.pick(10**6, alone=False)

    assert [o.job for o in first] == [*ended, *returned[-300:]]
    assert [o.job for o in second] == returned[:50]
    assert [o.job for o in box.pick(640, alone=False)[0]] == returned[40:50]


def test_nothing_goes_back_before_the_reply_to_an_armed_claim_was_read() -> None:
    """What that took was behind, and would come to the front otherwise."""
    world = World(workers=4)
    runs, waits = claimed(world, 2)
    world.running[0].started_s = world.now
    job = world.running.pop()
    plan = armed(world)
    behind = world.enqueue(2)
    replies = world.owned.turn(plan.verbs)  # executed, and not read yet

    assert world.core.on_late([job], world.now)
    for _ in range(3):
        assert "hand_back" not in [verb.script for verb in world.core.plan(world.now).verbs]
    world.runs = []
    assert world.core.apply_replies(plan, replies, world.now)[0] == []
    world.settle()

    assert world.runs == [waits, *behind]
    assert {job.id for job in world.running} == {runs, waits, *behind}
    world.check()


def test_no_claim_is_armed_while_jobs_are_on_their_way_back() -> None:
    world = World(workers=4)
    claimed(world, 2)
    first, second = world.running

    assert not world.core.on_late([second], world.now)  # a worker is about to refuse the first
    world.settle()
    assert world.core.arm(world.now) is None
    world.core.hand_back([first], world.now)
    assert world.core.on_late([], world.now)

    assert world.core.due_s(world.now) == 0
    assert world.core.arm(world.now) is None
    world.running, world.runs = [], []
    world.settle()
    assert world.runs == [first.id, second.id]
