"""docs/scaling.md quotes what the code does: defaults of policies, a run, a decision."""

import json
import re
from dataclasses import fields
from typing import Any

import msgspec
import pytest

from coordinator.decisions.explain import work_of
from coordinator.decisions.ledger import DecisionRecord
from coordinator.policy import POLICIES
from coordinator.policy.aimd import AimdSettings
from coordinator.policy.gain_check import GainCheckSettings
from coordinator.policy.pwqd import PwqdSettings
from coordinator.policy.ratio import RatioSettings
from coordinator.policy.sized import SizedSettings, reason_of, size
from queuepool.cli.inspection.decisions import _of_record
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "scaling.md").read_text()
SCENARIO = (
    ROOT / "tests" / "unit" / "coordinator" / "policy" / "scenarios" / "single_step.txt"
).read_text()


def part(policy: str) -> str:
    """Return what the page says of a policy."""
    return PAGE.partition(f"### `{policy}`")[2].partition("\n### ")[0].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        ("ratio", RatioSettings),
        ("aimd", AimdSettings),
        ("pwqd", PwqdSettings),
        ("sized", SizedSettings),
    ],
)
def test_the_defaults_of_a_policy_are_those_on_the_page(policy: str, settings: Any) -> None:
    defaults = {field.name: field.default for field in fields(settings)}

    quoted = re.findall(r"`?(\w+)`? \(([\d.]+)(?: s)?\)", part(policy))

    assert len(quoted) >= 3
    for name, value in quoted:
        assert float(value) == defaults.get(name, defaults.get(f"{name}_pwqd")), name


def test_the_pauses_of_the_gain_check_are_those_on_the_page() -> None:
    check = GainCheckSettings()

    pauses = (check.retry_s, 2 * check.retry_s, check.retry_max_s / 60)

    assert "waits {:g} s, then {:g} s, up to {:g} minutes".format(*pauses) in part("pwqd")
    assert f"A gain of {check.gain:.0%}".replace("%", " %") in part("pwqd")


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_on_the_page(policy: str) -> None:
    assert part(policy).strip(), f"docs/scaling.md says nothing of {policy}"


def test_the_quoted_run_is_that_of_the_scenario() -> None:
    quoted = re.findall(r"^    +(\d+\.\d .*)$", part("pwqd"), re.MULTILINE)

    assert len(quoted) >= 4
    assert [line for line in quoted if line not in SCENARIO] == []


def test_the_example_of_a_decision_is_one() -> None:
    example = PAGE.partition("```json\n")[2].partition("```")[0]

    shown = json.loads(example)
    named = {"command": "", "version": shown["policy_version"], "epoch": 1, "cycle": 1}
    record = msgspec.convert(
        shown | named | {"mode": "automatic", "figures": tuple(shown["figures"].values())},
        DecisionRecord,
    )

    assert _of_record(shown["id"], record) | {"command": shown["command"]} == shown
    assert record.inputs is not None
    assert record.inputs.pwqd == record.inputs.backlog / record.inputs.workers
    work = work_of(record)
    assert work is not None
    assert size(work).least == shown["moved"][0]["before"]
    assert reason_of(work) == shown["reason"]
