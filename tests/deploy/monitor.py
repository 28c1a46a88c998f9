"""A real Prometheus that scrapes processes of a test."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.deploy.files import DEPLOY
from tests.waiting import wait_until

ALERTS = DEPLOY / "monitoring" / "alerts.yaml"
PROMETHEUS = shutil.which("prometheus")
needs_prometheus = pytest.mark.skipif(
    PROMETHEUS is None, reason="not installed (Debian: apt-get install prometheus)"
)


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

    def firing(self) -> set[str]:
        """Return the alerts that fire."""
        rules = self.get("rules")["groups"][0]["rules"]
        assert {rule["health"] for rule in rules} == {"ok"}
        return {rule["name"] for rule in rules if rule["state"] == "firing"}

    def value_of(self, expression: str) -> list[Any]:
        found: list[Any] = self.get("query", query=expression)["result"]
        return found


@contextmanager
def prometheus(
    directory: Path, targets: Mapping[str, Sequence[str]], rules: str | None = None
) -> Iterator[Prometheus]:
    """Run a Prometheus with our rules, or these, over targets by job."""
    (directory / "alerts.yaml").write_text(ALERTS.read_text() if rules is None else rules)
    scrapes = [
        {"job_name": job, "static_configs": [{"targets": list(addresses)}]}
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
