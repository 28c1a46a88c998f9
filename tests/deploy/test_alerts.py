"""deploy/monitoring/alerts.yaml fires when it should, as Prometheus itself evaluates it."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.files import DEPLOY
from tests.docs.test_links import anchors
from tests.paths import ROOT
from tools import manifests

PAGE = (ROOT / "docs" / "operations.md").read_text()
FILE = DEPLOY / "monitoring" / "alerts.yaml"
RULES: list[dict[str, Any]] = yaml.safe_load(FILE.read_text())["groups"][0]["rules"]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian: apt-get install prometheus)"
)
NO_OWNER = "QueuepoolPartitionWithoutOwner"


def promtool(*words: str) -> None:
    done = subprocess.run(
        [str(PROMTOOL), *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def series(text: str, values: str) -> dict[str, str]:
    return {"series": text, "values": values}


def fires(at: str, alert: str, summary: str = "", **labels: str) -> dict[str, Any]:
    """Return what is expected of an alert at a moment; without a summary it is silent."""
    [rule] = [rule for rule in RULES if rule["alert"] == alert]
    annotations = {"summary": summary, "runbook": rule["annotations"]["runbook"]}
    firing = [{"exp_labels": labels | rule["labels"], "exp_annotations": annotations}]
    return {"eval_time": at, "alertname": alert, "exp_alerts": firing if summary else []}


def run(directory: Path, *tests: dict[str, Any], file: Path = FILE) -> None:
    content = {"rule_files": [str(file)], "evaluation_interval": "15s", "tests": list(tests)}
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


def test_every_alert_leads_to_a_place_that_helps() -> None:
    headings = anchors(ROOT / "docs" / "operations.md")

    for rule in RULES:
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert page == "docs/operations.md"
        assert anchor in headings, rule["alert"]
        [row] = [line for line in PAGE.splitlines() if f"`{rule['alert']}`" in line]
        assert f"(#{anchor})" in row
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_the_page_names_no_other_alerts() -> None:
    assert set(re.findall(r"`(Queuepool\w+)`", PAGE)) == {rule["alert"] for rule in RULES}


def test_every_metric_of_the_alerts_is_documented() -> None:
    named = set(re.findall(r"queuepool_\w+", FILE.read_text()))

    assert len(named) >= 5
    assert {name for name in named if f"| `{name}` |" not in PAGE} == set()


@needs_promtool
def test_prometheus_accepts_the_rules_and_the_configuration_of_compose() -> None:
    promtool("check", "rules", str(FILE))
    promtool("check", "config", str(FILE.parent / "prometheus.yml"))


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
        {  # an idle one needs none: a consumer comes when it has work; nobody is left to come
            "interval": "15s",
            "input_series": [*seen(0, "0x80"), *seen(1), owner("1", "a", "1x20 stale")],
            "alert_rule_test": [
                fires("4m45s", NO_OWNER),
                {
                    "eval_time": "6m",
                    "alertname": NO_OWNER,
                    "exp_alerts": [
                        alert
                        for n in "01"
                        for alert in fires("6m", NO_OWNER, ownerless.replace("0", n), partition=n)[
                            "exp_alerts"
                        ]
                    ],
                },
            ],
        },
        {  # no job is ready, but a delayed one is due
            "interval": "15s",
            "input_series": [
                *seen(0, "0x80"),
                series('queuepool_oldest_waiting_seconds{partition="0"}', "0x20 15x60"),
                owner("1", "a", "1x80"),
            ],
            "alert_rule_test": [
                fires("5m", NO_OWNER),
                fires("6m", NO_OWNER, ownerless, partition="0"),
            ],
        },
    )


@needs_promtool
@pytest.mark.parametrize("least", [0, 1])
def test_where_no_consumer_need_run_only_work_without_an_owner_is_noticed(
    tmp_path: Path, least: int
) -> None:
    pytest.importorskip("helm_python", reason="needs the extra `deploy`: make test-deploy")
    values = {
        "keda": {"enabled": True, "minReplicas": least}, "prometheusRule": {"enabled": True},
    }  # fmt: skip
    rule = yaml.safe_load(manifests.rendered(values)["prometheusrule.yaml"])
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule["spec"]))
    idle = "Partition 0 has no owner, so its jobs do not run."
    work = "Partition 1 has no owner, so its jobs do not run."

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": seen(0, "0x80"),
            "alert_rule_test": [fires("5m", NO_OWNER, idle if least else "", partition="0")],
        },
        {
            "interval": "15s",
            "input_series": [*seen(1), owner("", "a", "0x80"), owner("2", "b", "1x80")],
            "alert_rule_test": [fires("5m", NO_OWNER, work, partition="1")],
        },
        file=tmp_path / "rules.yaml",
    )


def test_the_chart_leaves_out_a_clause_that_the_rules_have() -> None:
    template = (manifests.CHART / "templates" / "prometheusrule.yaml").read_text()
    [pattern] = re.findall(r"regexReplaceAll `([^`]+)`", template)

    [clause] = re.findall(pattern, FILE.read_text())

    assert "sum(queuepool_owner) > 0" in clause
    assert clause.count("(") == clause.count(")")


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


@needs_promtool
def test_evictions_are_noticed(tmp_path: Path) -> None:
    text = 'queuepool_job_events_total{{partition="0",event="evicted",instance="{}"}}'
    name = "QueuepoolDeadJobsEvicted"
    summary = "Dead jobs of partition 0 were deleted, since there were too many."

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": [series(text.format(n), "3x20 50x120") for n in (1, 2)],
            "alert_rule_test": [
                fires("5m", name),
                fires("6m", name, summary, partition="0"),
                fires("25m", name),
            ],
        },
    )


@needs_promtool
def test_memory_is_noticed_before_the_server_refuses_jobs(tmp_path: Path) -> None:
    text = 'queuepool_server_memory_{}_bytes{{server="{}",instance="c-{}"}}'
    inputs = [
        series(text.format("used", "main", 1), "70x20 85x40 96x40"),
        series(text.format("limit", "main", 1), "100x100"),
        series(text.format("used", "free", 2), "900x100"),  # without a limit
        series(text.format("limit", "free", 2), "0x100"),
    ]
    near, full = "QueuepoolServerMemoryNearLimit", "QueuepoolServerMemoryExhausted"

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": inputs,
            "alert_rule_test": [
                fires("5m", near),
                fires("10m", near),  # not for five minutes yet
                fires("11m", near, "Server main uses 85% of its maxmemory.", server="main"),
                fires("15m", full),
                fires("16m", full, "Server main is about to refuse new jobs.", server="main"),
            ],
        },
    )


@needs_promtool
@pytest.mark.parametrize(
    ("alert", "metric", "process"),
    [
        ("QueuepoolConsumerGone", "queuepool_owner", "consumer"),
        ("QueuepoolCoordinatorGone", "queuepool_coordinator_leader", "coordinator"),
    ],
)
def test_a_process_that_does_not_answer_is_noticed_and_a_restart_is_not(
    tmp_path: Path, alert: str, metric: str, process: str
) -> None:
    inputs = [
        series('up{instance="a",job="x"}', "1x20 0x320"),
        series(f'{metric}{{instance="a",job="x"}}', "1x20 stale"),
        series('up{instance="b",job="x"}', "1x20 0x6 1x80"),  # away for a minute and a half
        series(f'{metric}{{instance="b",job="x"}}', "1x20 _x6 1x80"),
        series('up{instance="other",job="y"}', "0x100"),  # no process of ours
    ]
    gone = f"The {process} a does not answer."

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": inputs,
            "alert_rule_test": [
                fires("5m", alert),
                fires("7m", alert),
                fires("8m", alert, gone, instance="a", job="x"),
                fires("20m", alert, gone, instance="a", job="x"),
                fires("70m", alert),  # it was removed on purpose
            ],
        },
    )


@needs_promtool
def test_jobs_that_wait_for_a_limit_or_a_task_are_noticed_after_a_while(tmp_path: Path) -> None:
    parked = 'queuepool_jobs{{state="{}",partition="2",instance="{}"}}'
    unknown = 'queuepool_jobs_of_unknown_tasks{partition="2",instance="a"}'
    inputs = [
        series(parked.format(state, instance), values)
        for state, values in (("parked", "0x20 7x100"), ("ready", "9x120"))
        for instance in ("a", "b")
    ]
    throttled = "Jobs of partition 2 have waited for a limit for 15 minutes."
    waits = "Jobs of partition 2 wait for a consumer that knows their task."

    run(
        tmp_path,
        {
            "interval": "15s",
            "input_series": [*inputs, series(unknown, "0x4 1x100")],
            "alert_rule_test": [
                fires("19m", "QueuepoolThrottled"),
                fires("21m", "QueuepoolThrottled", throttled, partition="2"),
                fires("15m", "QueuepoolUnknownTasks"),
                fires("17m", "QueuepoolUnknownTasks", waits, partition="2"),
            ],
        },
    )


@needs_promtool
def test_nothing_fires_in_a_healthy_hour(tmp_path: Path) -> None:
    events = 'queuepool_job_events_total{{partition="0",event="{}"}}'
    healthy = [
        *seen(0, "5x240"),
        owner("0", "a", "1x240"),
        owner("", "b", "0x240"),
        series('queuepool_coordinator_leader{instance="x"}', "1x240"),
        series('queuepool_coordinator_leader{instance="y"}', "0x240"),
        series('queuepool_oldest_waiting_seconds{partition="0"}', "3x240"),
        series('queuepool_jobs_of_unknown_tasks{partition="0"}', "0x240"),
        series('queuepool_jobs{partition="0",state="parked"}', "0x240"),
        series('queuepool_server_memory_used_bytes{server="main"}', "50x240"),
        series('queuepool_server_memory_limit_bytes{server="main"}', "100x240"),
        *(series(f'up{{instance="{name}",job="x"}}', "1x240") for name in "abxy"),
        *(series(events.format(name), "2x240") for name in ("died", "evicted", "fenced")),
        series(events.format("done"), "0+100x240"),
    ]
    checked = [fires(f"{minute}m", rule["alert"]) for rule in RULES for minute in (1, 30, 60)]

    run(tmp_path, {"interval": "15s", "input_series": healthy, "alert_rule_test": checked})


@needs_promtool
def test_a_move_that_stands_still_is_noticed_and_one_that_moves_is_not(tmp_path: Path) -> None:
    name = "QueuepoolMoveStandsStill"
    still = "No slot has moved for a quarter of an hour, and 90 are left."

    def move(running: str, left: str) -> list[dict[str, str]]:
        values = (("running", running), ("slots_left", left))
        return [
            series(f'queuepool_move_{what}{{instance="{n}"}}', some)
            for what, some in values
            for n in (1, 2)
        ]

    run(
        tmp_path,
        {  # it begins after 5 minutes, moves 10 slots in 5 minutes, and then none until 30
            "interval": "15s",
            "input_series": move("0x20 1x100 0x40", "0x20 100-0.5x20 90x79 0x40"),
            "alert_rule_test": [
                fires("4m", name),
                fires("10m", name),
                fires("24m", name),
                fires("26m", name, still),
                fires("33m", name),
            ],
        },
        {
            "interval": "15s",
            "input_series": move("1x200", "200-1x200"),
            "alert_rule_test": [fires("30m", name), fires("45m", name)],
        },
    )
