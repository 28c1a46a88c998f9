"""One scenario, killed at each of its script calls: all points are listed, and all are clean.

When the scenario no longer makes every call, give it another seed or more jobs.
"""

from __future__ import annotations

import pytest

from tests.simulation.crash_points import MODES, crash_at, outcomes, points

SCRIPTS = {
    "acquire", "bury", "cancel", "checkpoint", "claim", "command", "end_cancelled", "enqueue",
    "finish", "finish_stray", "hand_back", "in_flight", "lead", "observe", "progress", "promote",
    "record", "recover", "release", "renew", "retry", "rotate_nonce", "start",
}  # fmt: skip
PARTS = 4


def test_the_scenario_makes_every_call_that_processes_make() -> None:
    assert {point.script for point in points()} >= SCRIPTS


@pytest.mark.parametrize("part", range(PARTS))
def test_every_crash_point_is_clean(part: int) -> None:
    found = points()[part::PARTS]

    unclean = [f"{p} {mode}: {wrong}" for p, mode, wrong in outcomes(found) if wrong]

    assert not unclean, "\n".join(unclean)


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_happens_where_it_was_asked_for(mode: str) -> None:
    point = next(point for point in points() if point.script == "finish")

    journal = crash_at(point.number, mode).journal

    assert journal.seen[f"crash at {point.number}"] == 1
    assert journal.terminals
