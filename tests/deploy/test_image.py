"""deploy/Dockerfile: what the image is allowed, and that it fits the processes in it.

`make test-deploy` builds and runs it.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from prometheus_client import CollectorRegistry

from queuepool.telemetry.metrics_server import MetricsServer
from tests.deploy.files import DEPLOY, final_stage, image_environment, instructions, unknown
from tests.paths import ROOT

FINAL = final_stage(DEPLOY / "Dockerfile")


def only(name: str) -> str:
    found = [rest for each, rest in FINAL if each == name]
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


def test_the_image_runs_as_a_user_without_rights() -> None:
    user, _, group = only("USER").partition(":")

    assert user == group == "10001"  # numbers: Kubernetes cannot tell who a name is
    assert f"--uid {user} " in " ".join(rest for name, rest in FINAL if name == "RUN")


def test_an_init_passes_signals_on_and_reaps_orphans() -> None:
    assert json.loads(only("ENTRYPOINT")) == ["tini", "--", "queuepool"]
    assert any(" install " in rest and " tini " in rest for name, rest in FINAL if name == "RUN")


def test_the_stages_share_a_base_that_an_argument_selects() -> None:
    found = instructions(DEPLOY / "Dockerfile")
    bases = [rest.removesuffix(" AS build") for name, rest in found if name == "FROM"]

    assert found[0][0] == "ARG"
    assert found[0][1].startswith("PYTHON=")
    assert len(bases) == 2
    assert set(bases) == {"python:${PYTHON}-slim-bookworm"}


def test_only_the_environment_of_python_leaves_the_first_stage() -> None:
    copied = [rest.split() for name, rest in FINAL if name == "COPY"]

    assert copied == [["--from=build", "/opt/queuepool", "/opt/queuepool"]]
    assert "--without-pip" in (DEPLOY / "Dockerfile").read_text()


def test_every_variable_is_one_that_a_process_reads() -> None:
    environment = image_environment()

    assert len(environment) >= 8
    assert unknown(environment) == set()


def test_one_port_serves_metrics_of_both_processes_and_is_the_one_that_is_probed() -> None:
    environment = image_environment()
    port = environment["CONSUMER_METRICS_PORT"]

    assert environment["COORDINATOR_METRICS_PORT"] == port
    assert only("EXPOSE").split() == [port, environment["COORDINATOR_GRPC_PORT"]]
    assert f"('127.0.0.1', {port})" in only("HEALTHCHECK")
    assert "GET /healthz " in only("HEALTHCHECK")


def test_the_health_check_follows_what_the_process_says() -> None:
    problem: list[str | None] = [None]
    server = MetricsServer(CollectorRegistry(), lambda: problem[0])
    server.start()
    command = json.loads(only("HEALTHCHECK").partition(" CMD ")[2])
    assert "9464" in command[-1]
    command = [re.sub(r"9464", str(server.port), word) for word in command]

    def check() -> int:
        done = subprocess.run(
            [sys.executable, *command[1:]], stderr=subprocess.DEVNULL, check=False
        )
        return done.returncode

    assert command[0] == "python"
    try:
        assert check() == 0
        problem[0] = "stuck"
        assert check() == 1
    finally:
        server.stop()
    assert check() == 1


def test_the_context_has_what_the_build_copies_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    first = instructions(DEPLOY / "Dockerfile")[: -len(FINAL)]
    copied = {
        word.rstrip("/") for name, rest in first if name == "COPY" for word in rest.split()[:-1]
    }

    assert lines[1] == "*"
    assert allowed == copied
    assert all((ROOT / name).exists() for name in copied)


def test_the_example_adds_a_module_with_tasks_to_the_image() -> None:
    folder = DEPLOY / "example"
    final = final_stage(folder / "Dockerfile")

    assert ("COPY", "rows.py /app/") in final
    assert ("ENV", "CONSUMER_APP=rows") in final
    assert "@task" in Path(folder / "rows.py").read_text()
