"""deploy/systemd: units that systemd accepts and the processes agree with; none is started here."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from queuepool.process.endings import CONFIGURATION
from queuepool.process.launching import OF_OPERATORS
from queuepool.routing.topology import MAX_PARTITIONS
from tests.deploy.files import DEPLOY, settings_of, unknown

FOLDER = DEPLOY / "systemd"
UNITS = {"consumer": "queuepool-consumer@.service", "coordinator": "queuepool-coordinator.service"}
INSTANCE = "07"
PROGRAM = "/opt/queuepool/bin/queuepool"
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def options(process: str) -> dict[str, list[str]]:
    """Return a unit's options, with the name of an instance in them."""
    text = (FOLDER / UNITS[process]).read_text().replace("%i", INSTANCE)
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(?:Environment=)?([A-Z_]+)=(.*)$", text, re.MULTILINE))


def environment_of(process: str) -> dict[str, str]:
    """Return what a unit sets, and the files of this folder that it reads from /etc/queuepool."""
    found = variables("\n".join(options(process).get("Environment", ())))
    for path in options(process)["EnvironmentFile"]:
        file = FOLDER / Path(path).name
        if file.exists():
            found |= variables(file.read_text())
    return found


@pytest.mark.parametrize("process", UNITS)
def test_the_process_accepts_the_variables_of_the_unit_and_of_the_file(process: str) -> None:
    environment = environment_of(process)

    assert unknown(environment) == set()
    assert settings_of(process, environment).model_config["env_prefix"]
    assert f"{PROGRAM} {process}" in options(process)["ExecStart"][0]


def test_only_the_coordinator_gets_its_token() -> None:
    assert environment_of("coordinator")["COORDINATOR_GRPC_TOKEN"] == "TOKEN"
    assert [name for name in environment_of("consumer") if name in OF_OPERATORS] == []


@pytest.mark.parametrize("process", UNITS)
def test_no_restart_follows_a_setting_that_is_wrong(process: str) -> None:
    unit = options(process)

    assert unit["Restart"] == ["on-failure"]
    assert unit["RestartPreventExitStatus"] == [str(CONFIGURATION)]
    assert unit["StartLimitIntervalSec"] == ["0"]  # all other ends are worth another try


def test_a_consumer_has_time_to_drain_before_it_is_killed() -> None:
    settings = settings_of("consumer", environment_of("consumer"))
    [stop] = options("consumer")["TimeoutStopSec"]

    assert isinstance(settings, ConsumerSettings)
    assert int(stop) >= settings.drain_s + 15
    assert options("consumer")["KillMode"] == ["mixed"]  # SIGTERM is for the consumer alone


def started(instance: str, folder: Path, **variables: str) -> list[str]:
    """Run ExecStart of a consumer's unit; return its metrics port, and the words of the command."""
    [line] = re.findall(r"^ExecStart=(.*)$", (FOLDER / UNITS["consumer"]).read_text(), re.MULTILINE)
    program = folder / "queuepool"
    program.write_text('#!/bin/sh\necho "$CONSUMER_METRICS_PORT" "$@"\n')
    program.chmod(0o755)
    line = line.replace(PROGRAM, str(program)).replace("%i", instance).replace("$$", "$")
    words = shlex.split(line)
    done = subprocess.run(
        words, env=variables, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_consumers_of_all_partitions_have_ports_of_their_own(tmp_path: Path) -> None:
    coordinator = settings_of("coordinator", environment_of("coordinator"))
    assert isinstance(coordinator, CoordinatorSettings)
    instances = ["01", "08", "64", "100", "0464", str(MAX_PARTITIONS)]

    commands = [started(instance, tmp_path) for instance in instances]

    ports = [10001, 10008, 10064, 10100, 10464, 10000 + MAX_PARTITIONS]
    assert commands == [[str(port), "consumer"] for port in ports]
    taken = {coordinator.metrics_port, coordinator.grpc_port}
    assert taken.isdisjoint(range(10000, ports[-1] + 1))


def test_a_port_of_the_users_own_takes_precedence(tmp_path: Path) -> None:
    assert started("07", tmp_path, CONSUMER_METRICS_PORT="-1") == ["-1", "consumer"]


@needs_systemd
@pytest.mark.parametrize("process", UNITS)
def test_systemd_accepts_the_unit_and_finds_it_well_confined(process: str, tmp_path: Path) -> None:
    text = (FOLDER / UNITS[process]).read_text()
    path = tmp_path / UNITS[process].replace("@", f"@{INSTANCE}")
    path.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))

    for words in (
        ("verify", str(path)),
        ("security", "--offline=true", "--threshold=30", str(path)),
    ):
        done = subprocess.run(
            [str(ANALYZE), *words], capture_output=True, text=True, check=False, timeout=60
        )
        if "unrecognized option" in done.stderr:
            pytest.skip("systemd is too old to judge a unit offline")
        assert done.returncode == 0, done.stdout + done.stderr
        if words[0] == "verify":
            assert path.name not in done.stderr  # verify warns about unknown options, and succeeds
