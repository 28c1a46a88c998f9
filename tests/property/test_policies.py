"""What holds for scaling policies whatever they are shown."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.policy import POLICIES, Decision, Direction, Limits, Policy, Reading, make_policy
from coordinator.policy.gain_check import GainCheckSettings
from tests.sampling import part_of_examples

LIMITS = Limits(min_workers=8, max_workers=64)
UNCHECKED = {
    name: make_policy(name, gain_check=GainCheckSettings(enabled=False))
    for name in ("pwqd", "sized")
}

limits = st.builds(
    lambda low, extra: Limits(min_workers=low, max_workers=low + extra),
    st.integers(1, 50),
    st.integers(0, 500),
)


@st.composite
def histories(draw: st.DrawFn, *, gaps: bool = True) -> list[Reading | None]:
    """Readings with a growing clock; None where an observation is missing."""
    at_s, finished, history = 0.0, 0, list[Reading | None]()
    for _ in range(draw(st.integers(1, 60))):
        at_s += draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.0, 1.3, 40.0]))
        finished += draw(st.integers(0, 800))
        reading = Reading(
            at_s=at_s,
            backlog=draw(st.sampled_from([0, 0, 0, 5, 40, 300, 5_000, 10**6])),
            workers=draw(st.sampled_from([0, 8, 8, 16, 32, 64, 64])),
            busy=draw(st.integers(0, 64)),
            finished_total=finished,
        )
        history.append(None if gaps and draw(st.integers(0, 9)) == 0 else reading)
    return history


def play(
    policy: Policy[Any, Any], history: list[Reading | None], bounds: Limits = LIMITS
) -> list[Decision]:
    state, decisions = policy.initial(bounds.min_workers), list[Decision]()
    for reading in history:
        decisions.append(policy.decide(reading, state, bounds))
        state = decisions[-1].state
    return decisions


@pytest.mark.parametrize("name", POLICIES)
@part_of_examples(0.4)
@given(history=histories(), bounds=limits, start=st.integers(0, 1000))
def test_the_target_never_leaves_the_operators_bounds(
    name: str, history: list[Reading | None], bounds: Limits, start: int
) -> None:
    policy = make_policy(name)
    state = policy.initial(start)

    for reading in history:
        decision = policy.decide(reading, state, bounds)
        state = decision.state

        assert bounds.min_workers <= decision.target <= bounds.max_workers
        assert state.target == decision.target


@pytest.mark.parametrize("name", POLICIES)
@part_of_examples(0.4)
@given(history=histories())
def test_a_missing_reading_holds_and_leaves_the_state_as_it_was(
    name: str, history: list[Reading | None]
) -> None:
    policy = make_policy(name)
    state = play(policy, history)[-1].state

    decision = policy.decide(None, state, LIMITS)

    assert decision.direction is Direction.HOLD
    assert decision.state == state


@pytest.mark.parametrize("name", POLICIES)
@part_of_examples(0.4)
@given(history=histories())
def test_the_same_history_gives_the_same_decisions(
    name: str, history: list[Reading | None]
) -> None:
    assert play(make_policy(name), history) == play(make_policy(name), history)


@pytest.mark.parametrize("name", POLICIES)
@part_of_examples(0.4)
@given(history=histories())
def test_every_decision_has_a_reason_and_a_state_that_is_plain_json(
    name: str, history: list[Reading | None]
) -> None:
    for decision in play(make_policy(name), history):
        record = json.loads(json.dumps(msgspec.to_builtins(decision.state), allow_nan=False))

        assert decision.reason
        assert msgspec.convert(record, type(decision.state)) == decision.state


@pytest.mark.parametrize("name", POLICIES)
@part_of_examples(0.4)
@given(history=histories(gaps=False))
def test_an_idle_partition_returns_to_its_base(name: str, history: list[Reading]) -> None:
    policy = make_policy(name)
    last = history[-1]
    idle: list[Reading | None] = [
        Reading(
            at_s=last.at_s + second,
            backlog=0,
            workers=64,
            busy=0,
            finished_total=last.finished_total,
        )
        for second in range(1, 400)
    ]

    decisions = play(policy, [*history, *idle])

    assert decisions[-1].target == LIMITS.min_workers


@pytest.mark.parametrize("name", POLICIES)
@part_of_examples(0.4)
@given(history=histories(gaps=False), backlogs=st.tuples(*[st.integers(0, 10**6)] * 2))
def test_a_larger_backlog_never_means_fewer_workers(
    name: str, history: list[Reading], backlogs: tuple[int, int]
) -> None:
    # Not promised while a step is on trial: there a deep backlog is what convicts it.
    policy = UNCHECKED.get(name) or make_policy(name)
    state = play(policy, list(history))[-1].state
    last = history[-1]

    less, more = (
        policy.decide(
            Reading(
                at_s=last.at_s + 1,
                backlog=backlog,
                workers=last.workers,
                busy=last.busy,
                finished_total=last.finished_total + 100,
            ),
            state,
            LIMITS,
        ).target
        for backlog in sorted(backlogs)
    )

    assert less <= more


@part_of_examples(0.4)
@given(history=histories())
def test_pwqd_grows_by_twice_or_eight_at_most(history: list[Reading | None]) -> None:
    for decision in play(make_policy("pwqd"), history, Limits(min_workers=3, max_workers=24)):
        assert decision.target <= max(2 * decision.previous, decision.previous + 8)


@part_of_examples(0.4)
@given(history=histories())
def test_pwqd_never_shrinks_before_thirty_observed_seconds_without_a_backlog(
    history: list[Reading | None],
) -> None:
    quiet_s, last_at_s = 0.0, None
    for reading, decision in zip(history, play(make_policy("pwqd"), history), strict=True):
        if reading is None:
            assert decision.direction is Direction.HOLD
            continue
        # A gap counts as one cycle, because no one saw what happened in it.
        quiet_s += min(reading.at_s - last_at_s, 1.0) if last_at_s is not None else 0.0
        last_at_s = reading.at_s
        if reading.pwqd > 1.0 or decision.direction is Direction.UP:
            quiet_s = 0.0
        if decision.direction is Direction.DOWN and "gain_check" not in decision.clamps:
            assert quiet_s >= 30.0 - 1e-9
