"""deploy/compose.yaml agrees with the settings, and with the image."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from queuepool.errors import ConfigurationError
from tests.deploy.files import DEPLOY, compose, image_environment, seconds, settings_of, unknown
from tests.paths import ROOT

COMPOSE = shutil.which("docker-compose")
README = (DEPLOY / "README.md").read_text()
SECRETS = {"QUEUEPOOL_PASSWORD": "p4ss", "QUEUEPOOL_TOKEN": "t0ken"}
SERVICES: dict[str, dict[str, Any]] = compose(**SECRETS)["services"]
PROCESSES = ("consumer", "coordinator")


def environment_of(service: str) -> dict[str, Any]:
    own: dict[str, Any] = SERVICES[service]["environment"]
    return image_environment() | {"CONSUMER_APP": "rows"} | own


@pytest.mark.parametrize("missing", SECRETS)
def test_nothing_starts_without_secrets(missing: str) -> None:
    with pytest.raises(KeyError, match=missing):
        compose(**{name: value for name, value in SECRETS.items() if name != missing})


@pytest.mark.parametrize("service", [*PROCESSES, "cli"])
def test_every_variable_is_one_that_is_read(service: str) -> None:
    assert unknown(environment_of(service)) == set()


@pytest.mark.parametrize("service", PROCESSES)
def test_the_processes_accept_their_settings(service: str) -> None:
    assert settings_of(service, environment_of(service)).model_config["env_prefix"]


def test_a_coordinator_of_the_image_needs_a_token() -> None:
    environment = environment_of("coordinator")
    del environment["COORDINATOR_GRPC_TOKEN"]

    with pytest.raises(ConfigurationError, match="set COORDINATOR_GRPC_TOKEN"):
        settings_of("coordinator", environment)


def test_a_consumer_has_time_to_drain_before_it_is_killed() -> None:
    settings = settings_of("consumer", environment_of("consumer"))

    assert isinstance(settings, ConsumerSettings)
    assert seconds(SERVICES["consumer"]["stop_grace_period"]) >= settings.drain_s + 15


def test_there_are_more_consumers_than_partitions_and_a_standby_coordinator() -> None:
    partitions = int(SERVICES["consumer"]["environment"]["QUEUEPOOL_PARTITIONS"])

    assert SERVICES["consumer"]["scale"] > partitions
    assert SERVICES["coordinator"]["scale"] == 2


@pytest.mark.parametrize("name", ["QUEUEPOOL_IMAGE", "QUEUEPOOL_PARTITIONS", "QUEUEPOOL_CONSUMERS"])
def test_a_variable_that_the_page_tells_to_set_has_an_effect(name: str) -> None:
    consumer = compose(**SECRETS, **{name: "777"})["services"]["consumer"]

    assert f"    echo {name}=" in README
    assert "777" in str(consumer)


def test_the_page_mounts_the_folder_from_which_it_builds() -> None:
    [built] = re.findall(r"docker build --tag my-jobs (\S+)", README)
    override = README.partition("    services:\n")[2].partition("\n\n")[0]
    [volume] = yaml.safe_load(override)["consumer"]["volumes"]
    mounted = Path(volume.partition(":")[0])

    assert (DEPLOY / mounted).resolve() == (ROOT / built).resolve()
    assert "deploy/compose.override.yaml" in README


@pytest.mark.skipif(COMPOSE is None, reason="docker-compose is not installed")
def test_compose_reads_the_override_of_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "deploy"
    folder.mkdir()
    shutil.copy(DEPLOY / "compose.yaml", folder)
    override = README.partition("    services:\n")[2].partition("\n\n")[0]
    (folder / "compose.override.yaml").write_text(f"services:\n{override}\n")

    done = subprocess.run(
        [str(COMPOSE), "config"],
        cwd=folder,
        env=os.environ | SECRETS | {"QUEUEPOOL_PARTITIONS": "8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    consumer = yaml.safe_load(done.stdout)["services"]["consumer"]
    assert str(tmp_path / "my-tasks") in str(consumer["volumes"])
    assert consumer["environment"]["QUEUEPOOL_PARTITIONS"] == "8"


def test_every_process_names_the_same_keyspace() -> None:
    names = ("QUEUEPOOL_URL", "QUEUEPOOL_PARTITIONS", "QUEUEPOOL_STAGE")
    found = {
        tuple(SERVICES[service]["environment"][name] for name in names)
        for service in (*PROCESSES, "cli")
    }

    assert len(found) == 1


def test_commands_find_a_coordinator_and_its_token() -> None:
    variables = SERVICES["cli"]["environment"]
    host, _, port = variables["QUEUEPOOL_GRPC"].partition(":")
    settings = settings_of("coordinator", environment_of(host))

    assert isinstance(settings, CoordinatorSettings)
    assert int(port) == settings.grpc_port
    assert settings.grpc_token is not None
    assert settings.grpc_token.get_secret_value() == variables["QUEUEPOOL_GRPC_TOKEN"]


@pytest.mark.parametrize("service", SERVICES)
def test_no_container_has_rights_that_it_does_not_need(service: str) -> None:
    about = SERVICES[service]

    assert about["read_only"] is True
    assert about["cap_drop"] == ["ALL"]
    assert about["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in about.get("ports", ()))
    assert "privileged" not in about


def test_the_server_keeps_jobs_and_its_password_out_of_arguments() -> None:
    server = SERVICES["server"]
    [script] = server["command"]
    options = dict(re.findall(r"^([\w-]+) (\S+)$", script, re.MULTILINE))

    assert options["appendonly"] == "yes"
    assert options["maxmemory-policy"] == "noeviction"
    assert options["dir"] == "/data"
    assert "data:/data" in server["volumes"]
    assert SECRETS["QUEUEPOOL_PASSWORD"] not in str(server["command"])
    assert options["requirepass"] == "$$REDISCLI_AUTH"
    assert server["environment"]["REDISCLI_AUTH"] == SECRETS["QUEUEPOOL_PASSWORD"]


def test_only_prometheus_is_published() -> None:
    assert [name for name, about in SERVICES.items() if "ports" in about] == ["prometheus"]
    assert SERVICES["prometheus"]["profiles"] == ["monitoring"]


def test_prometheus_looks_for_services_on_the_port_of_the_image() -> None:
    text = (DEPLOY / "monitoring" / "prometheus.yml").read_text()
    found = [each["dns_sd_configs"][0] for each in yaml.safe_load(text)["scrape_configs"]]

    assert {name for each in found for name in each["names"]} == set(PROCESSES)
    assert {str(each["port"]) for each in found} == {image_environment()["CONSUMER_METRICS_PORT"]}
    assert "./monitoring:/etc/prometheus:ro" in SERVICES["prometheus"]["volumes"]


def test_processes_wait_for_a_server_that_answers() -> None:
    assert "ping" in str(SERVICES["server"]["healthcheck"]["test"])
    for service in PROCESSES:
        assert SERVICES[service]["depends_on"]["server"] == {"condition": "service_healthy"}
