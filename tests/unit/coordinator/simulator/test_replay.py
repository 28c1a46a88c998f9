"""What `queuepool replay` makes of settings: of the recorded policy, and of others."""

from __future__ import annotations

import pytest

from coordinator.core.replay.recording import Recorder
from coordinator.simulator.replay import answer
from tests.unit.coordinator.core.replay.cycles import bursty, cycles_of


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    recorder = Recorder("test")
    return [line for cycle in cycles_of(bursty(30.0)) for line in recorder.lines(cycle)]


@pytest.mark.parametrize("setting", ["gain_check=0", "gain_check=false"])
def test_the_gain_check_is_switched_off(lines: list[bytes], setting: str) -> None:
    for policy in ("sized", "pwqd", ""):
        assert answer(lines, policy, [setting])["shadow"]["cycles"] > 20


@pytest.mark.parametrize("setting", ["gain_check=1", "gain_check=true", "hold_s=0.0"])
def test_the_recorded_settings_are_no_other_policy(lines: list[bytes], setting: str) -> None:
    found = answer(lines, "sized", [setting])

    assert (found["shadow"], found["different"]) == (None, 0)


@pytest.mark.parametrize("setting", ["gain_check=7", "step_workers=2.5", "step_workers=false"])
def test_a_setting_of_the_wrong_kind_is_named(lines: list[bytes], setting: str) -> None:
    with pytest.raises(ValueError, match=f"policy 'sized': {setting}"):
        answer(lines, "sized", [setting])
