"""Many seeds of the simulation, and proof that a broken core does not get through.

`make simulate` runs ten thousand; a failure names the command that replays it step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from consumer.core.jobs import ClaimedJob
from consumer.core.owner import Core
from consumer.core.remote_call import RemoteCall
from consumer.core.turn import Turn
from queuepool.servers import Reply
from queuepool.verbs.owner import verbs as own
from tests.sampling import first_of, one_in
from tests.simulation.__main__ import replay
from tests.simulation.consuming import NewCore
from tests.simulation.scenario import Faults
from tests.simulation.simulation import simulate

BLOCKS, SEEDS_A_BLOCK = 6, 18
MOST_SEEDS = 200  # until a broken core must have shown itself


@pytest.mark.parametrize("block", one_in(2, range(BLOCKS)))
def test_no_seed_breaks_a_promise(block: int) -> None:
    first = block * SEEDS_A_BLOCK

    for seed in range(first, first + SEEDS_A_BLOCK):
        result = simulate(seed)

        assert not result.violations, f"{result.violations[:5]}\nreplay: {replay(seed)}"


def test_a_seed_tells_the_same_story_every_time() -> None:
    stories: list[list[tuple[float, str, str]]] = [[], []]

    for lines in stories:
        simulate(7, trace=lambda *line, lines=lines: lines.append(line))

    assert stories[0] == stories[1]
    assert len(stories[0]) > 50


def test_the_seeds_meet_every_fault() -> None:
    met: set[str] = set()

    for seed in range(30):
        met |= simulate(seed).journal.seen.keys()

    assert met >= {
        "drop", "lose", "double", "late", "fenced", "Reconciled", "RecoveredJobs", "Resized",
        "repeated after a loss", "batches",
    }  # fmt: skip


class NeverReconciles(Core):
    """Forgets that a claim whose answer was lost is in flight."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)

        def ignore(_: Sequence[bytes], turn: Turn) -> None:
            self.state.reconcile_s = turn.now_s + 15.0

        self.reconcile.on_reply = ignore  # type: ignore[method-assign, assignment]


class TrustsItsLease(Core):
    """Always believes that the partition is its own."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.lease.lease_s = 1e9


class ForgetsOutcomes(Core):
    """Takes outcomes for recorded when the answer was lost."""

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        super().on_no_reply(turn, now_s)
        if turn.outcomes:
            self.record.on_answered(turn)


class RunsSuspectsTogether(Core):
    """Starts every suspect as soon as it is claimed."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        claimed = self.claim.on_reply

        def all_at_once(claims: own.Claims, turn: Turn) -> None:
            claimed(claims, turn)
            suspects: list[ClaimedJob] = self.in_flight.suspects.withdraw()
            self.in_flight.open += len(suspects)
            turn.jobs += suspects

        self.claim.on_reply = all_at_once  # type: ignore[method-assign]


class NeverRecovers(Core):
    """Leaves the jobs of its predecessor alone."""

    def plan(self, now_s: float) -> Turn:
        self.lease.to_recover = 0
        return super().plan(now_s)


class ForgetsEnds(Core):
    """Takes what batches are told for noted when nobody answered."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        answered = self.tell.on_answer

        def noted(call: RemoteCall, _reply: Reply, now_s: float) -> None:
            answered(call, 0, now_s)

        self.tell.on_answer = noted  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize(
    "broken",
    first_of([NeverReconciles, ForgetsOutcomes, RunsSuspectsTogether, NeverRecovers, ForgetsEnds]),
)
def test_a_broken_core_is_found(broken: NewCore) -> None:
    found = any(simulate(seed, new_core=broken).violations for seed in range(MOST_SEEDS))

    assert found


def test_a_core_that_trusts_its_lease_is_found_by_stalls_with_jobs_in_memory() -> None:
    stalls: dict[str, Any] = {
        "faults": Faults(stalls=((3.0, 6.0), (12.0, 6.0), (20.0, 3.0))),
        "jobs": 60,
        "workers": 1,
        "prefetch": 400,
        "job_s": (0.05, 0.6),
    }
    found = any(
        simulate(seed, new_core=TrustsItsLease, **stalls).violations for seed in range(MOST_SEEDS)
    )

    assert found
