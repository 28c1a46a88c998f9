"""Every expression of the dashboard answers, in a real Prometheus that scrapes a real cluster."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.deploy.files import DEPLOY
from tests.e2e.clusters import LocalUp, up
from tests.paths import ROOT
from tests.waiting import wait_until

PROMETHEUS = shutil.which("prometheus")
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Prometheus:
    """A real one, asked over HTTP."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1/"

    def get(self, path: str, **arguments: str) -> Any:
        with urlopen(f"{self._url}{path}?{urlencode(arguments)}", timeout=30) as reply:
            return json.loads(reply.read())["data"]

    def is_up(self) -> bool:
        try:
            return bool(self.get("query", query="vector(1)"))
        except (URLError, OSError):
            return False

    def value_of(self, expression: str) -> list[Any]:
        found: list[Any] = self.get("query", query=expression)["result"]
        return found


@contextmanager
def prometheus(directory: Path, targets: dict[str, list[str]]) -> Iterator[Prometheus]:
    """Run a Prometheus with our rules over these targets."""
    shutil.copy(DEPLOY / "monitoring" / "alerts.yaml", directory)
    scrapes = [
        {"job_name": job, "static_configs": [{"targets": addresses}]}
        for job, addresses in targets.items()
    ]
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    content = {"global": every, "rule_files": ["alerts.yaml"], "scrape_configs": scrapes}
    (directory / "prometheus.yml").write_text(json.dumps(content))
    port = free_port()
    with (directory / "prometheus.out").open("wb") as out:
        process = subprocess.Popen(
            [
                str(PROMETHEUS),
                f"--config.file={directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        running = Prometheus(port)
        wait_until(running.is_up, 60, "Prometheus answers", interval_s=0.1)
        yield running
    finally:
        process.kill()
        process.wait()


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


@pytest.mark.e2e
@pytest.mark.server
@pytest.mark.xdist_group("cluster")
@pytest.mark.timeout(240)
@pytest.mark.skipif(PROMETHEUS is None, reason="not installed (Debian: apt-get install prometheus)")
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

            def firing() -> set[str]:
                rules = monitor.get("rules")["groups"][0]["rules"]
                assert {rule["health"] for rule in rules} == {"ok"}
                return {rule["name"] for rule in rules if rule["state"] == "firing"}

            wait_until(firing, 60, "the first job of each file failed, so an alert fires")
            assert firing() == {"QueuepoolJobsDie"}
