"""An owner first makes due what was set aside for tasks that it knows."""

from consumer.core import events
from consumer.core.owner import Core
from consumer.settings import ConsumerSettings
from queuepool.partitions.partition import OwnedPartition
from queuepool.testing import FakeClock, MemoryPool
from queuepool.verbs.owner import verbs as own

SETTINGS = ConsumerSettings(workers=2)


def waiting(jobs: int) -> tuple[MemoryPool, OwnedPartition]:
    """Return a pool with jobs set aside for task "new", and its next owner."""
    pool = MemoryPool(clock=FakeClock())
    pool.enqueue_many("new", [{}] * jobs, partition_key="k")
    owned = pool.partition(0).acquire(lease_s=10)
    assert isinstance(owned, OwnedPartition)
    claim = own.claim(
        owned.ownership, 200, starting=200, promote_after_ms=0, weights=SETTINGS.tier_weights
    )
    ids = owned.run(claim).ids
    owned.run(own.retry(owned.ownership, [(i, 60_000, "new", b"") for i in ids]))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    following = pool.partition(0).acquire(lease_s=10)
    assert isinstance(following, OwnedPartition)
    return pool, following


def turns(core: Core, owned: OwnedPartition, *, most: int = 10) -> tuple[list[str], list[object]]:
    """Run turns while they are due; returns (verbs that were sent, events)."""
    sent, reported = list[str](), list[object]()
    for _ in range(most):
        if core.due_s(0.0) > 0:
            break
        plan = core.plan(0.0)
        sent += [verb.script for verb in plan.verbs]
        _jobs, heard = core.apply_replies(plan, owned.turn(plan.verbs), 0.0)
        reported += heard
    return sent, reported


def core_of(owned: OwnedPartition, *tasks: str) -> Core:
    return Core(owned.acquired, SETTINGS, workers=2, now_s=0.0, tasks=tasks)


def test_jobs_that_waited_for_a_task_we_know_are_claimed_at_once_and_reported_once() -> None:
    _pool, owned = waiting(2)
    core = core_of(owned, "new", "old")

    sent, reported = turns(core, owned)

    assert sent.count("rouse") == 1
    assert [e.jobs for e in reported if isinstance(e, events.TasksKnown)] == [{"new": 2}]
    assert core.open == 2


def test_jobs_of_other_tasks_go_on_waiting() -> None:
    pool, owned = waiting(2)
    core = core_of(owned, "old")

    _sent, reported = turns(core, owned)

    assert not [e for e in reported if isinstance(e, events.TasksKnown)]
    assert (core.open, pool.partition(0).observe().aside) == (0, 2)


def test_a_turn_without_an_answer_asks_again() -> None:
    _pool, owned = waiting(2)
    core = core_of(owned, "new")
    lost = core.plan(0.0)
    assert "rouse" in [verb.script for verb in lost.verbs]

    core.on_no_reply(lost, 0.0)
    sent, _reported = turns(core, owned)

    assert "rouse" in sent
    assert core.open == 2


def test_an_owner_that_drains_wakes_nobody() -> None:
    _pool, owned = waiting(2)
    core = core_of(owned, "new")
    core.drain(0.0)

    sent, _reported = turns(core, owned)

    assert "rouse" not in sent
