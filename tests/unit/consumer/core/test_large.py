"""Results that a link carries slowly, or not at all: everything goes on, and nothing is silent."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from consumer.core import events
from consumer.core.jobs import ClaimedJob, End
from consumer.core.outbox import Outbox, size_bytes
from consumer.core.pace import LIGHT_BYTES, MOST_BYTES, Pace
from consumer.core.steps.record import TRIES
from consumer.core.turn import Turn
from queuepool.models import JobState
from queuepool.verbs.owner import verbs as own
from tests.unit.consumer.core.world import LEASE_S, World

_TIMEOUT_S = LEASE_S / 3
_LATENCY_S = 0.001


class SlowLink:
    """Turns over a link of so many bytes a second: one that takes too long gets no answer."""

    def __init__(self, world: World, bytes_per_s: float) -> None:
        self.world, self.bytes_per_s = world, bytes_per_s
        self.lost: list[Turn] = []
        self.answered: list[Turn] = []
        self.least_left_s = LEASE_S

    def turn(self) -> None:
        world, core = self.world, self.world.core
        plan = core.plan(world.now)
        if not plan.verbs:
            world.clock.advance(0.001)
            return
        took_s = _LATENCY_S + plan.sent_bytes / self.bytes_per_s
        self.least_left_s = min(self.least_left_s, core.lease.ends_s - world.now)
        if took_s > _TIMEOUT_S:
            world.clock.advance(2 * _TIMEOUT_S)  # to send it, and then to wait for its answer
            core.on_no_reply(plan, world.now)
            self.lost.append(plan)
            return
        replies = world.owned.turn(plan.verbs)
        world.clock.advance(took_s)
        ready, reported = core.apply_replies(plan, replies, world.now)
        self.answered.append(plan)
        world.began(ready)
        world.reported += reported

    def turns(self, seconds: float) -> None:
        """Take what turns are due for so long; what runs ends at once, without a result."""
        until = self.world.now + seconds
        while self.world.now < until:
            wait_s = self.world.core.due_s(self.world.now)
            if wait_s > 0:
                self.world.clock.advance(min(wait_s, until - self.world.now) + 1e-6)
            else:
                self.turn()


def end(world: World, jobs: Sequence[ClaimedJob], result_bytes: int, **more: Any) -> None:
    world.end(jobs, result=b"x" * result_bytes, result_ttl_ms=600_000, **more)


def scripts(plan: Turn) -> list[str]:
    return [verb.script for verb in plan.verbs]


def test_a_turn_records_no_more_bytes_than_its_budget() -> None:
    world = World(workers=400)
    world.enqueue(400)
    for _ in range(3):
        world.settle()
    end(world, list(world.running), 200_000)

    plan = world.core.plan(world.now)

    assert plan.sent_bytes <= MOST_BYTES
    assert len(plan.outcomes) == 5
    assert sum(len(word) for v in plan.verbs for word in v.args if isinstance(word, bytes)) < 2**21
    world.settle(turns=200)
    assert world.counter("done") == 400


@pytest.mark.parametrize("mbit_per_s", [100, 10, 1])
def test_400_large_results_are_recorded_over_a_slow_link_and_the_lease_is_kept(
    mbit_per_s: float,
) -> None:
    world = World(workers=400)
    world.enqueue(400)
    for _ in range(3):
        world.settle()
    end(world, list(world.running), 200_000)
    link = SlowLink(world, mbit_per_s * 125_000)

    link.turns(1.5 * 400 * 200_000 / link.bytes_per_s + 30)

    assert world.counter("done") == 400
    assert link.least_left_s > 0.5
    assert len(link.lost) <= 4
    assert not world.core.claimed


def test_a_turn_that_records_much_never_carries_the_renewal() -> None:
    world = World(workers=40)
    world.enqueue(40)
    world.settle()
    end(world, list(world.running), 200_000)
    link = SlowLink(world, 1_250_000)

    link.turns(12)

    heavy = [plan for plan in link.answered + link.lost if plan.sent_bytes > LIGHT_BYTES]
    assert len(heavy) >= 8
    assert not any("renew" in scripts(plan) for plan in heavy)
    assert sum("renew" in scripts(plan) for plan in link.answered) >= 6


def test_what_waits_to_be_recorded_keeps_its_slot_so_that_memory_is_bounded() -> None:
    world = World(workers=8, prefetch=0)
    world.enqueue(1000)
    link = SlowLink(world, 125_000)
    most = 0
    for _ in range(300):
        link.turn()
        end(world, list(world.running), 200_000, took_s=0.001)
        most = max(most, len(world.core.in_flight.outbox))

    assert most <= 2 * 8
    assert world.counter("done") > 40


def test_other_jobs_go_on_beside_a_result_that_does_not_get_through_and_it_ends_as_failed() -> None:
    world = World(workers=4)
    big, *_ = world.enqueue(1)
    world.settle()
    end(world, list(world.running), 1_000_000)
    link = SlowLink(world, 12_500)  # 80 s for it alone
    world.enqueue(200, "others")
    while not world.of(events.ResultUndelivered):
        link.turns(0.01)
        world.end([job for job in world.running if job.id != big], took_s=0.001)
    link.turns(1)

    assert [[o.job.id for o in plan.outcomes] for plan in link.lost] == [[big]] * TRIES
    assert link.least_left_s > 0.5
    assert world.counter("done") == 200
    status = world.partition.status(big.decode())
    assert (status.state, status.attempts) == (JobState.DELAYED, 1)
    assert status.error is not None
    assert status.error.reason == "bad-result"
    assert "1000000 bytes did not reach the server" in status.error.message


def test_after_its_last_attempt_such_a_job_is_dead() -> None:
    world = World(workers=1)
    (big,) = world.enqueue(1)
    world.settle()
    end(world, list(world.running), 1_000_000, max_attempts=1)

    SlowLink(world, 12_500).turns(20 * LEASE_S)

    assert world.partition.status(big.decode()).state is JobState.DEAD


def test_an_outage_fails_no_attempt() -> None:
    world = World(workers=1)
    world.enqueue(1)
    world.settle()
    end(world, list(world.running), 1_000_000)
    link = SlowLink(world, 1e9)
    for _ in range(10 * TRIES):
        plan = world.core.plan(world.now)
        world.clock.advance(0.1)
        world.core.on_no_reply(plan, world.now)

    link.turns(5)

    assert world.counter("done") == 1
    assert not world.data.attempts


def test_a_claim_whose_answer_is_lost_is_repeated_for_fewer_jobs() -> None:
    world = World(workers=200)
    world.enqueue(400)
    asked = []
    for _ in range(20):
        plan = world.core.plan(world.now)
        if plan.claiming:
            asked.append(plan.claiming)
            world.core.on_no_reply(plan, world.now)
        else:
            world.core.apply_replies(plan, world.owned.turn(plan.verbs), world.now)

    assert asked[:4] == [200, 100, 50, 25]
    world.settle(turns=100)
    assert len(world.running) == 200


# -- what counts as progress ----------------------------------------------------------------------


def test_a_renewal_is_progress_for_an_idle_owner_and_none_over_a_full_outbox() -> None:
    world = World(workers=1)
    world.enqueue(1)
    (job,) = world.settle()
    world.clock.advance(1.5)
    plan = world.core.plan(world.now)
    assert scripts(plan) == ["renew"]
    world.core.apply_replies(plan, world.owned.turn(plan.verbs), world.now)
    assert world.core.is_progress(plan)

    end(world, [job], 1_000_000)
    world.clock.advance(1.5)
    plan = world.core.plan(world.now)
    assert scripts(plan) == ["renew"]
    world.core.apply_replies(plan, world.owned.turn(plan.verbs), world.now)
    assert not world.core.is_progress(plan)

    plan = world.core.plan(world.now)
    assert "finish" in scripts(plan)
    world.core.apply_replies(plan, world.owned.turn(plan.verbs), world.now)
    assert world.core.is_progress(plan)


def test_results_that_do_not_get_through_are_progress_with_each_counted_try() -> None:
    world = World(workers=6)
    world.enqueue(6)
    world.settle()
    end(world, list(world.running), 1_000_000)
    link = SlowLink(world, 12_500)
    while len(world.of(events.ResultUndelivered)) < 6:
        link.turn()
        world.clock.advance(0.01)

    at = [plan.replied_s for plan in link.answered if plan.progress]
    assert len(at) >= 6 * TRIES
    # A try alone, and the time for which such results wait after it
    assert max(after - before for before, after in pairwise(at)) < 6 * _TIMEOUT_S


def test_a_new_nonce_and_claims_that_go_back_are_no_progress() -> None:
    world = World(workers=2)
    world.enqueue(2)
    claim = world.core.plan(world.now)
    world.owned.turn(claim.verbs)
    world.core.on_no_reply(claim, world.now)
    kinds = []
    for _ in range(5):
        plan = world.core.plan(world.now)
        world.core.apply_replies(plan, world.owned.turn(plan.verbs), world.now)
        kinds.append((plan.is_rotation, scripts(plan), world.core.is_progress(plan)))

    assert kinds[0] == (True, ["rotate_nonce"], False)
    assert [progress for _, words, progress in kinds if "claim" not in words] == [False] * 4
    assert kinds[1][1] == ["renew"]
    assert any("claim" in words and progress for _, words, progress in kinds)


# -- the parts ------------------------------------------------------------------------------------


def test_the_pace_halves_without_an_answer_and_doubles_with_answers() -> None:
    pace = Pace(LEASE_S, own.MAX_BATCH)
    sizes = []
    for _ in range(12):
        pace.on_no_reply(pace.budget_bytes, 0)
        sizes.append(pace.budget_bytes)
    assert sizes[:3] == [MOST_BYTES // 2, MOST_BYTES // 4, MOST_BYTES // 8]
    assert sizes[-1] == sizes[-2] == 4096

    pace.on_reply(0.01, 100, 0, 0)
    assert pace.budget_bytes == 4096  # so little shows nothing of more
    for _ in range(12):
        pace.on_reply(0.01, pace.budget_bytes, 0, 1)
    assert not pace.slowed


def test_a_slow_answer_makes_the_next_turn_smaller_before_one_is_lost() -> None:
    pace = Pace(LEASE_S, own.MAX_BATCH)

    pace.on_reply(2.0, MOST_BYTES, 0, 200)
    assert (pace.budget_bytes, pace.jobs) == (MOST_BYTES // 2, 200)
    pace.on_reply(2.0, 0, 10 * MOST_BYTES, 200)
    assert pace.jobs == 100
    pace.on_reply(2.0, 1000, 1000, 10)  # latency, not size
    assert (pace.budget_bytes, pace.jobs) == (MOST_BYTES // 2, 100)


def test_the_outbox_passes_over_what_exceeds_the_budget_and_forgets_by_outcome() -> None:
    world = World(workers=3)
    world.enqueue(3)
    jobs = world.settle()
    end(world, jobs[:1], 5000)
    end(world, jobs[1:], 10)
    box: Outbox = world.core.in_flight.outbox
    small = [o for o in box if o.job is not jobs[0]]

    assert box.pick(1000, alone=False) == (small, size_bytes(small))
    (alone,), _ = box.pick(1000, alone=True)
    assert alone.job is jobs[0]
    box.forget(small)
    assert list(box) == [alone]
    assert box.pick(1000, alone=False) == ([], 0)
    assert alone.end is End.DONE
