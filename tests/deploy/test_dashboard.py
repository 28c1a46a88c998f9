"""Every expression of the dashboard answers, in a real Prometheus that scrapes a real cluster."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import DEPLOY
from tests.deploy.monitor import needs_prometheus, prometheus
from tests.deploy.test_alerts import needs_promtool, owner, promtool, seen, series
from tests.e2e.clusters import LocalUp, up
from tests.paths import ROOT
from tests.waiting import wait_until

DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
EXPRESSIONS = sorted({t["expr"] for panel in DASHBOARD["panels"] for t in panel["targets"]})
TASKS = """
import threading
from queuepool import PermanentError, task

@task
def write(n: str) -> None:
    threading.Event().wait(0.01)
    if n == "0":
        raise PermanentError("the first one fails")
"""


def expanded(expression: str) -> str:
    """Return an expression as Grafana sends it."""
    return expression.replace("$__rate_interval", "5s").replace("$partition", ".*")


def targets_of(cluster: LocalUp) -> dict[str, list[str]]:
    """Return where the processes serve metrics, as their logs say."""
    found = {
        name: [
            address
            for log in sorted((cluster.directory / ".queuepool").rglob(f"{name}*.log"))
            for address in re.findall(r"http://(127\.0\.0\.1:\d+)", log.read_text())[-1:]
        ]
        for name in ("consumer", "coordinator")
    }
    assert all(found.values()), found
    return found


def test_a_panel_has_a_title_a_unit_and_room_of_its_own() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in DASHBOARD["panels"]:
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]


def test_every_metric_of_the_dashboard_is_documented() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    named = {
        re.sub(r"(_seconds)_bucket$", r"\1", name)
        for expression in EXPRESSIONS
        for name in re.findall(r"queuepool_\w+", expression)
    }

    assert len(named) >= 20
    assert {name for name in named if f"| `{name}` |" not in page} == set()


def expression(title: str, legend: str = "__auto") -> str:
    """Return the only expression of a panel with this legend, for all partitions."""
    [found] = [
        target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
        if panel["title"] == title and target["legendFormat"] == legend
    ]
    return str(found).replace("$__rate_interval", "5m").replace("$partition", ".*")


def shows(directory: Path, shown: str, value: float, *inputs: dict[str, str]) -> None:
    """Check the one value that an expression has after ten minutes."""
    expected = {
        "expr": shown, "eval_time": "10m", "exp_samples": [{"labels": "{}", "value": value}],
    }  # fmt: skip
    test = {"interval": "15s", "input_series": inputs, "promql_expr_test": [expected]}
    (directory / "tests.yaml").write_text(json.dumps({"rule_files": [], "tests": [test]}))
    promtool("test", "rules", str(directory / "tests.yaml"))


@needs_promtool
def test_partitions_without_owner_are_those_with_work_however_many_there_are(
    tmp_path: Path,
) -> None:
    shown = expression("Partitions without owner")
    states = 'queuepool_partitions{{state="ownerless",instance="coordinator-{}"}}'

    def found(count: int) -> list[dict[str, str]]:
        return [series(states.format(n), f"{count}x40") for n in (1, 2)]

    shows(tmp_path, shown, 0, *seen(0, "0x40"), owner("", "roams", "0x40"), *found(0))
    total = [series(f'queuepool_jobs{{partition="{name}",state="ready"}}', "9x40")
             for name in ("all", "all/video")]  # fmt: skip
    shows(tmp_path, shown, 3, *total, owner("140", "a", "1x40"), *found(3))


@needs_promtool
def test_fenced_owners_are_those_that_the_servers_count(tmp_path: Path) -> None:
    text = 'queuepool_job_events_total{{partition="{}",event="fenced",instance="coordinator-{}"}}'
    inputs = [series(text.format(p, n), "0+1x40") for p in ("0", "all/video") for n in (1, 2)]

    shows(tmp_path, expression("Trouble of consumers per minute", "fenced"), 8, *inputs)


@pytest.mark.e2e
@pytest.mark.server
@pytest.mark.xdist_group("cluster")
@pytest.mark.timeout(240)
@needs_prometheus
def test_every_expression_answers_and_no_alert_fires_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "rows.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(4000)))
    bulk = ("bulk", "rows.csv", "--task", "write", "--limit", "mail")
    with up(tmp_path, "--app", "tasks", "--partitions", "2", "--base-workers", "2") as cluster:
        limited = cluster.run("limit", "set", "mail", "--rate", "100")
        assert limited.code == 0, limited.err
        with prometheus(tmp_path, targets_of(cluster)) as monitor:
            wait_until(lambda: monitor.value_of("queuepool_owner == 1"), 60, "a scrape")
            for key in ("a", "b", "c"):
                assert cluster.run(*bulk, "--key", key).code == 0
            missing = set(EXPRESSIONS)

            def all_answer() -> bool:
                missing.difference_update(
                    [each for each in missing if monitor.value_of(expanded(each))]
                )
                return not missing

            try:
                wait_until(all_answer, 60, "every expression has answered", interval_s=0.5)
            except AssertionError:
                pytest.fail(f"no sample from: {sorted(missing)}")

            wait_until(monitor.firing, 60, "the first job of each file failed, so an alert fires")
            assert monitor.firing() == {"QueuepoolJobsDie"}
