"""Whole runs in virtual time, written down as text.

After a wanted change of behaviour: QUEUEPOOL_REWRITE=1 pytest tests/unit/coordinator/policy,
then read the difference in version control before committing it.
"""

import os
from pathlib import Path

import pytest

from coordinator.policy import POLICIES
from tests.unit.coordinator.policy.scenario import LINE, load, report

pytestmark = pytest.mark.thorough

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))
REWRITE = os.environ.get("QUEUEPOOL_REWRITE") == "1"


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_has_a_scenario(policy: str) -> None:
    assert policy in {load(path).policy.name for path in SCENARIOS}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_run_is_the_one_written_down(path: Path) -> None:
    scenario = load(path)

    text = report(scenario.run())

    if REWRITE:
        path.write_text(f"{scenario.source}{LINE}\n{text}")
    assert REWRITE or text == scenario.expected
