"""CONTRIBUTING.md, "Add a policy", followed in a scratch copy: each of three places is missed."""

from functools import partial
from pathlib import Path

import pytest

from tests.places.scratch import Outcome, Place, Scratch, passes_whole, refuses_without
from tests.sampling import first_of

pytestmark = pytest.mark.timeout(600)  # each runs several tests in a process of its own

SCENARIOS = "tests/unit/coordinator/policy/scenarios"
FILE = '''"""A number of workers that does not change."""

from dataclasses import dataclass

from coordinator.policy.base import Policy, PolicySettings, bounded, setting
from coordinator.policy.model import Decision, Limits, PolicyState, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadySettings(PolicySettings):
    """How many workers to keep."""

    steady_workers: int = setting(8, "Workers to keep.")

    def __post_init__(self) -> None:
        self.require_above_zero("steady_workers")


class SteadyPolicy(Policy[SteadySettings, PolicyState]):
    """Keep one count."""

    name = "steady"
    version = 1

    def on_reading(self, _reading: Reading, state: PolicyState, limits: Limits) -> Decision:
        kept = PolicyState(target=self.settings.steady_workers)
        return bounded(kept, state.target, limits, "steady")
'''


def add_scenario(scratch: Scratch) -> None:
    written = scratch.read(f"{SCENARIOS}/single_step_static.txt")
    scratch.write(
        f"{SCENARIOS}/single_step_steady.txt", written.replace("policy static", "policy steady")
    )


def add_to_the_pages(scratch: Scratch) -> None:
    scratch.replace(
        "docs/scaling.md",
        "\n### `static`\n",
        "\n### `steady`\n\nKeeps one count.\n\n### `static`\n",
    )
    written = scratch.run("-m", "tools.settings_docs", "--write")
    assert written.ok, written.output


def a_setting_reaches_it(scratch: Scratch) -> Outcome:
    return scratch.run(
        "-c",
        "from coordinator.settings import load; "
        "made = load({'policy': 'steady', 'steady_workers': '12'}).make_policy(); "
        "assert made.settings.steady_workers == 12",
    )


RECIPE = (
    Place("the file", partial(Scratch.write, path="coordinator/policy/steady.py", text=FILE)),
    Place("a scenario", add_scenario),
    Place("the pages", add_to_the_pages),
)
CHECKS = (
    a_setting_reaches_it,
    lambda scratch: scratch.pytest(
        "tests/unit/coordinator/policy/test_scenarios.py",
        "tests/docs/test_scaling.py",
        "tests/docs/test_operations.py",
        "-k",
        "steady or every_policy or tables or settings",
    ),
)


@pytest.mark.slow
def test_a_policy_that_follows_the_recipe_passes(tmp_path: Path) -> None:
    passes_whole(RECIPE, CHECKS, tmp_path)


@pytest.mark.parametrize("place", first_of(place.name for place in RECIPE))
def test_a_place_left_out_is_missed(place: str, tmp_path: Path) -> None:
    refuses_without(place, RECIPE, CHECKS, tmp_path)
