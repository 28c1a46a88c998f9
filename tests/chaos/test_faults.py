"""One small run of every fault; `make chaos` does many."""

from pathlib import Path

import pytest

from tests.chaos.registry import Fault, Trial, faults

pytestmark = [pytest.mark.chaos, pytest.mark.serial]  # takeovers are measured


@pytest.mark.parametrize("fault", [f for f in faults() if f.quick], ids=lambda f: f.number)
def test_nothing_is_violated_under(fault: Fault, tmp_path: Path) -> None:
    result = fault.run(Trial(0, True, tmp_path))

    assert result.verdict.violations == ()
    assert result.verdict.jobs > 0
