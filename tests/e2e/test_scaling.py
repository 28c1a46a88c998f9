"""The reference run of scaling in small, with real processes: up by commands, and back."""

from __future__ import annotations

import pytest

from benchmarks.scaling import run

# The same policy with everything ten times as fast.
_FAST = {
    "COORDINATOR_CYCLE_S": "0.2",
    "COORDINATOR_HOLD_S": "1.5",
    "COORDINATOR_TAU_S": "1.5",
    "COORDINATOR_CHECKPOINT_INTERVAL_S": "1",
}


@pytest.mark.serial
@pytest.mark.timeout(180)
def test_workers_rise_to_the_maximum_by_commands_and_come_back_to_the_base() -> None:
    result = run(3000, 40.0, 2, 16, wait_return=True, environment=_FAST)

    assert result.peak == 16
    assert result.returned_s is not None
    targets = [workers for _, workers, _ in result.samples]
    assert targets[0] == 2
    assert targets[-1] == 2
    _, _, number = result.commands[-1].partition("-")
    assert int(number) >= 2  # from 0: 2 -> 4 -> ... -> 16, then down; a sample may miss one
    # Two workers from the first second to the last would take eight times the ideal.
    assert result.makespan_s < 2 * result.ideal_s
