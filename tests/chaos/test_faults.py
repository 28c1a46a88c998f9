"""One small run of every fault; `make chaos` does many.

Takeovers are measured, so `make test` runs them apart from other tests; but they wait more than
they work, so it runs several at once.
"""

from pathlib import Path

import pytest

from tests.chaos.registry import Fault, Trial, faults

pytestmark = pytest.mark.chaos


@pytest.mark.parametrize("fault", [f for f in faults() if f.quick], ids=lambda f: f.number)
def test_nothing_is_violated_under(fault: Fault, tmp_path: Path) -> None:
    result = fault.run(Trial(0, True, tmp_path))

    assert result.verdict.violations == ()
    assert result.verdict.jobs > 0
