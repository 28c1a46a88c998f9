"""deploy/compose.yaml agrees with the settings, and with the image."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from queuepool.errors import ConfigurationError
from tests.deploy.files import DEPLOY, compose, image_environment, seconds, settings_of, unknown

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
