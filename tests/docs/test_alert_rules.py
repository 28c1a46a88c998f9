"""The alerts of docs/operations.md fire when they should, as Prometheus itself evaluates them."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text()
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian: apt-get install prometheus)"
)
NO_OWNER = "QueuepoolPartitionWithoutOwner"


def rules() -> str:
    found = re.search(r"^```yaml\n(groups:\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def promtool(*words: str) -> None:
    done = subprocess.run(
        [str(PROMTOOL), *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def series(text: str, values: str) -> dict[str, str]:
    return {"series": text, "values": values}


def fires(at: str, alert: str, summary: str = "", **labels: str) -> dict[str, Any]:
    """Return what is expected of an alert at a moment; without a summary it is silent."""
    firing = [{"exp_labels": labels, "exp_annotations": {"summary": summary}}] if summary else []
    return {"eval_time": at, "alertname": alert, "exp_alerts": firing}


def run(directory: Path, *tests: dict[str, Any]) -> None:
    (directory / "rules.yaml").write_text(rules())
    content = {"rule_files": ["rules.yaml"], "evaluation_interval": "15s", "tests": list(tests)}
    (directory / "tests.yaml").write_text(json.dumps(content))
    promtool("test", "rules", str(directory / "tests.yaml"))


def seen(partition: int, values: str = "5x80") -> list[dict[str, str]]:
    """Return what the leader and a standby export of a partition."""
    text = 'queuepool_jobs{{partition="{}",state="{}",instance="coordinator-{}"}}'
    return [
        series(text.format(partition, state, n), values)
        for state in ("ready", "dead")
        for n in (1, 2)
    ]


def owner(partition: str, instance: str, values: str) -> dict[str, str]:
    return series(f'queuepool_owner{{partition="{partition}",instance="{instance}"}}', values)


def test_every_metric_of_the_alerts_is_documented() -> None:
    named = set(re.findall(r"queuepool_\w+", rules()))

    assert len(named) >= 5
    assert {name for name in named if f"| `{name}` |" not in PAGE} == set()


@needs_promtool
def test_prometheus_accepts_the_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(rules())

    promtool("check", "rules", str(tmp_path / "rules.yaml"))


@needs_promtool
def test_an_owner_that_dies_is_noticed_until_another_takes_over(tmp_path: Path) -> None:
    standby = [owner("", "c", "0x40"), owner("0", "c", "_x41 1x40")]
    dies = [owner("0", "a", "1x20 stale"), owner("1", "b", "1x80")]
    ownerless = "Partition 0 has no owner, so its jobs do not run."

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": [*seen(0), *seen(1), *dies, *standby],
            "alert_rule_test": [
                fires("4m45s", NO_OWNER),
                fires("5m15s", NO_OWNER),
                fires("5m45s", NO_OWNER, ownerless, partition="0"),
                fires("9m", NO_OWNER, ownerless, partition="0"),
                fires("11m", NO_OWNER),
            ],
        },
        {  # one that says it owns nothing any more, and a partition that never had an owner
            "interval": "15s",
            "input_series": [*seen(0), *seen(7), owner("0", "a", "1x8 0x80")],
            "alert_rule_test": [
                fires(
                    "1m",
                    NO_OWNER,
                    "Partition 7 has no owner, so its jobs do not run.",
                    partition="7",
                )
            ],
        },
    )


@needs_promtool
def test_a_leader_that_is_gone_is_noticed_even_with_all_its_series(tmp_path: Path) -> None:
    text = 'queuepool_coordinator_leader{{instance="{}"}}'
    summary = (
        "No coordinator leads, so worker counts do not change and partitions are not observed."
    )
    name = "QueuepoolNoLeader"

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": [
                series(text.format("a"), "1x20 0x10 stale"),
                series(text.format("b"), "0x22 1x30 stale"),
            ],
            "alert_rule_test": [
                fires("5m", name),
                fires("6m", name),  # the other took over within the minute
                fires("12m", name),
                fires("14m45s", name, summary),
            ],
        },
        {
            "interval": "15s",
            "input_series": [series(text.format("a"), "0x40"), series(text.format("b"), "0x40")],
            "alert_rule_test": [fires("45s", name), fires("1m15s", name, summary)],
        },
    )


@needs_promtool
def test_deaths_fences_and_long_waits_are_noticed_once_a_partition(tmp_path: Path) -> None:
    text = 'queuepool_job_events_total{{partition="{}",event="{}",instance="{}"}}'
    inputs = [
        series(text.format(partition, event, instance), values)
        for partition, values in (("0", "7x20 9x60"), ("1", "7x80"))
        for event in ("died", "fenced", "done")
        for instance in ("a", "b")
    ]
    wait = 'queuepool_oldest_waiting_seconds{{partition="{}",instance="{}"}}'
    inputs += [series(wait.format(3, instance), "299x20 400x60") for instance in ("a", "b")]
    died = "Jobs of partition 0 died in the last five minutes."
    fenced = "A consumer lost partition 0 while running. It may be stalling."
    waits = "The oldest job of partition 3 has waited 400 s."

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": inputs,
            "alert_rule_test": [
                fires("5m", "QueuepoolJobsDie"),
                fires("5m30s", "QueuepoolJobsDie", died, partition="0"),
                fires("11m", "QueuepoolJobsDie"),
                fires("5m", "QueuepoolOwnerFenced"),
                fires("11m", "QueuepoolOwnerFenced", fenced, partition="0"),
                fires("16m", "QueuepoolOwnerFenced"),
                fires("6m", "QueuepoolJobsWaitLong"),
                fires("7m", "QueuepoolJobsWaitLong", waits, partition="3"),
            ],
        },
    )
