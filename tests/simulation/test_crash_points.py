"""Four scenarios, killed at their script calls: all are listed, and some of them are tried here.

When a scenario no longer makes every call, give it another seed or more jobs.
"""

from __future__ import annotations

import pytest

from tests.sampling import one_in
from tests.simulation.crash_points import (
    MODES,
    SCENARIO,
    SCENARIOS,
    WITH_EXTRAS,
    WITH_LIMITS,
    WITH_POOL,
    crash_at,
    outcomes,
    undisturbed,
)
from tests.simulation.scenario import Scenario

SCRIPTS = {
    "acquire", "bury", "cancel", "checkpoint", "claim", "command", "end_cancelled", "enqueue",
    "finish", "finish_stray", "hand_back", "in_flight", "lead", "observe", "progress", "promote",
    "record", "recover", "release", "renew", "retry", "rotate_nonce", "start",
}  # fmt: skip
PARTS, STEP = 4, 11  # `make test-slow` tries twice as many, `make simulate` every point


OF_EXTRAS = {
    "bury", "cancel", "claim", "configure", "enqueue", "finish", "hand_back", "promote", "recover",
    "release", "retry", "start",
}  # fmt: skip


OF_LIMITS = {
    "admit", "ask", "claim", "end_permits", "enqueue", "finish", "gates", "pause_limit", "recover",
    "release", "retry", "set_limit", "slow",
}  # fmt: skip
OF_POOL = OF_LIMITS - {"pause_limit", "release", "set_limit", "slow"}
IDS = ["plain", "extras", "limits", "pool"]


@pytest.mark.parametrize(
    ("scenario", "scripts"),
    [
        (SCENARIO, SCRIPTS),
        (WITH_EXTRAS, OF_EXTRAS),
        (WITH_LIMITS, OF_LIMITS),
        (WITH_POOL, OF_POOL),
    ],
    ids=IDS,
)
def test_the_scenarios_make_every_call_that_processes_make(
    scenario: Scenario, scripts: set[str]
) -> None:
    assert {point.script for point in undisturbed(scenario)[0]} >= scripts


def test_a_scenario_has_unique_keys_and_claims_that_expire_jobs() -> None:
    _, journal = undisturbed(WITH_EXTRAS)

    assert journal.seen.keys() >= {"conflict", "replaced", "expired", "freed at its start"}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=IDS)
@pytest.mark.parametrize("part", one_in(2, range(PARTS)))
def test_crash_points_are_clean(part: int, scenario: Scenario) -> None:
    step = 3 * STEP if scenario.pool else STEP  # each takes as long as two others
    found = undisturbed(scenario)[0][::step][part::PARTS]

    unclean = [f"{p} {mode}: {wrong}" for p, mode, wrong in outcomes(scenario, found) if wrong]

    assert not unclean, "\n".join(unclean)


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_happens_where_it_was_asked_for(mode: str) -> None:
    point = next(point for point in undisturbed(SCENARIO)[0] if point.script == "finish")

    journal = crash_at(SCENARIO, point.number, mode).journal

    assert journal.seen[f"crash at {point.number}"] == 1
    assert journal.terminals
