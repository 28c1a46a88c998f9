"""The chart's plain rendering agrees with the settings, the image and itself.

Only schemas and our own rules are checked here, on no cluster. `make test-deploy` installs what
renders the chart; without it, a digest tells that the rendering is of this chart.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import yaml

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from tests.deploy.files import DEPLOY, image_environment, settings_of, unknown
from tests.paths import ROOT
from tools import manifests

Manifest = dict[str, Any]
PLAIN: list[Manifest] = list(yaml.safe_load_all(manifests.PLAIN.read_text()))
PROCESSES = ("consumer", "coordinator")
SECRETS = {"url": "redis://server:6379/0", "token": "t0ken"}
FIELDS = {"status.podIP": "10.1.2.3"}


def of_kind(kind: str, component: str) -> Manifest:
    [found] = [
        each
        for each in PLAIN
        if each["kind"] == kind
        and each["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ]
    return found


def pod(component: str) -> Manifest:
    found: Manifest = of_kind("Deployment", component)["spec"]["template"]
    return found


def container(component: str) -> Manifest:
    [found] = pod(component)["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def environment_of(component: str) -> dict[str, str]:
    """Return what the process sees: the image's variables, and those of the manifest over them."""
    found = image_environment() | {"CONSUMER_APP": "rows"}
    for each in container(component)["env"]:
        source = each.get("valueFrom", {})
        if "secretKeyRef" in source:
            found[each["name"]] = SECRETS[source["secretKeyRef"]["key"]]
        elif "fieldRef" in source:
            found[each["name"]] = FIELDS[source["fieldRef"]["fieldPath"]]
        else:
            found[each["name"]] = re.sub(r"\$\((\w+)\)", lambda m: found[m[1]], each["value"])
    return found


def includes(labels: dict[str, str], selector: dict[str, str]) -> bool:
    return bool(selector) and selector.items() <= labels.items()


def test_the_manifests_are_of_this_chart() -> None:
    assert manifests.is_current(), "run `python -m tools.manifests --write`"


def test_another_chart_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "values.yaml").write_text("partitions: 5\n")
    monkeypatch.setattr(manifests, "CHART", tmp_path)

    assert not manifests.is_current()


def test_the_chart_has_the_version_of_the_project_and_the_rules_of_monitoring() -> None:
    chart = yaml.safe_load((manifests.CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert chart["appVersion"] == chart["version"] == project["version"]
    rules = (manifests.CHART / "files" / "alerts.yaml").read_text()
    assert rules == (DEPLOY / "monitoring" / "alerts.yaml").read_text()


def test_every_value_is_in_the_schema_and_every_schema_has_a_value() -> None:
    values = yaml.safe_load((manifests.CHART / "values.yaml").read_text())
    schema = json.loads((manifests.CHART / "values.schema.json").read_text())

    def missing(value: Any, about: Manifest, path: str) -> Iterator[str]:
        known = about.get("properties")
        if known is None or not isinstance(value, dict):
            return
        yield from (f"{path}{name}" for name in known.keys() ^ value.keys() - {"global"})
        for name in known.keys() & value.keys():
            assert known[name].get("description") or known[name].get("properties"), name
            yield from missing(value[name], known[name], f"{path}{name}.")

    assert set(missing(values, schema, "")) == {"global"}


@pytest.mark.parametrize("component", PROCESSES)
def test_the_process_accepts_its_variables(component: str) -> None:
    environment = environment_of(component)

    assert unknown(environment) == set()
    assert settings_of(component, environment).model_config["env_prefix"]
    assert container(component)["args"] == [component]


def test_a_consumer_has_time_to_drain_before_it_is_killed() -> None:
    settings = settings_of("consumer", environment_of("consumer"))

    assert isinstance(settings, ConsumerSettings)
    assert pod("consumer")["spec"]["terminationGracePeriodSeconds"] >= settings.drain_s + 15


def test_there_are_consumers_for_every_partition_and_a_standby_and_updates_take_none_away() -> None:
    spec = of_kind("Deployment", "consumer")["spec"]
    partitions = int(environment_of("consumer")["QUEUEPOOL_PARTITIONS"])

    assert spec["replicas"] > partitions
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert of_kind("Deployment", "coordinator")["spec"]["replicas"] == 2


def test_the_liveness_probes_outlast_an_outage_of_the_server() -> None:
    for component in PROCESSES:
        probe = container(component)["livenessProbe"]
        assert probe["periodSeconds"] * probe["failureThreshold"] >= 600
        assert probe["httpGet"]["path"] == "/healthz"


def test_ports_are_those_that_the_processes_listen_on() -> None:
    consumer = settings_of("consumer", environment_of("consumer"))
    coordinator = settings_of("coordinator", environment_of("coordinator"))
    assert isinstance(consumer, ConsumerSettings)
    assert isinstance(coordinator, CoordinatorSettings)

    def ports(component: str) -> dict[str, int]:
        return {each["name"]: each["containerPort"] for each in container(component)["ports"]}

    assert ports("consumer") == {"metrics": consumer.metrics_port}
    grpc = coordinator.grpc_port
    assert ports("coordinator") == {"metrics": coordinator.metrics_port, "grpc": grpc}
    assert coordinator.grpc_address == f"{FIELDS['status.podIP']}:{grpc}"
    assert container("coordinator")["readinessProbe"]["grpc"] == {"port": grpc}
    service = of_kind("Service", "coordinator")["spec"]
    assert [(each["port"], each["targetPort"]) for each in service["ports"]] == [(grpc, "grpc")]


@pytest.mark.parametrize("component", PROCESSES)
def test_selectors_select_the_pods_of_one_process(component: str) -> None:
    other = pod(next(name for name in PROCESSES if name != component))
    selectors = [
        of_kind("Deployment", component)["spec"]["selector"]["matchLabels"],
        of_kind("PodDisruptionBudget", component)["spec"]["selector"]["matchLabels"],
        of_kind("NetworkPolicy", component)["spec"]["podSelector"]["matchLabels"],
        *(
            each["labelSelector"]["matchLabels"]
            for each in pod(component)["spec"]["topologySpreadConstraints"]
        ),
    ]
    if component == "coordinator":
        selectors.append(of_kind("Service", component)["spec"]["selector"])

    for selector in selectors:
        assert includes(pod(component)["metadata"]["labels"], selector)
        assert not includes(other["metadata"]["labels"], selector)


@pytest.mark.parametrize("component", PROCESSES)
def test_ports_of_policies_and_probes_exist_by_name(component: str) -> None:
    names = {each["name"] for each in container(component)["ports"]}
    used = {
        each["port"]
        for rule in of_kind("NetworkPolicy", component)["spec"]["ingress"]
        for each in rule["ports"]
    }
    probes = [container(component)[f"{kind}Probe"] for kind in ("liveness", "readiness")]
    used |= {probe["httpGet"]["port"] for probe in probes if "httpGet" in probe}

    assert used <= names
    assert "metrics" in used


@pytest.mark.parametrize("component", PROCESSES)
def test_a_pod_has_no_rights_that_it_does_not_need(component: str) -> None:
    spec = pod(component)["spec"]

    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False  # COORDINATOR_GRPC_PORT=tcp://... would be one
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(component)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container(component)["resources"]["limits"]["memory"]


# -- with what renders charts ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def chart() -> Any:
    """The library that renders charts, of the extra `deploy`."""
    return pytest.importorskip("helm_python", reason="needs the extra `deploy`: make test-deploy")


def documents(made: dict[str, str]) -> list[Manifest]:
    texts = [text for name, text in made.items() if name.endswith(".yaml")]
    return [each for text in texts for each in yaml.safe_load_all(text) if each]


def test_the_manifests_are_what_the_chart_renders(chart: Any) -> None:
    assert manifests.PLAIN.read_text() == manifests.plain()


def test_helm_finds_nothing_wrong(chart: Any) -> None:
    found = chart.lint(str(manifests.CHART))

    assert found["errors"] == []
    assert [each for each in found["messages"] if each["severity"] > 1] == []  # 1: a hint


EVERYTHING = {
    "image": {"repository": "registry.local:5000/jobs", "tag": "1"},
    "imagePullSecrets": [{"name": "registry"}],
    "consumer": {
        "app": "rows,mails",
        "standbys": 3,
        "drainSeconds": 600,
        "env": {"CONSUMER_WORKERS": "16"},
        "envFrom": [{"secretRef": {"name": "database"}}],
        "volumes": [{"name": "work", "emptyDir": {}}],
        "volumeMounts": [{"name": "work", "mountPath": "/data"}],
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "bulk"},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "bulk", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
    },
    "keda": {"enabled": True, "minReplicas": 2},
    "serviceAccount": {"create": True, "name": "bulk", "annotations": {"x": "y"}},
    "networkPolicy": {"metricsFrom": [{"namespaceSelector": {}}]},
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
}
NOTHING = {
    "serviceAccount": {"create": False},
    "podDisruptionBudget": {"enabled": False},
    "networkPolicy": {"enabled": False},
}


@pytest.mark.parametrize("version", ["1.27", "1.37"])
@pytest.mark.parametrize("values", [{}, EVERYTHING, NOTHING], ids=["none", "everything", "nothing"])
def test_kubernetes_knows_every_field(chart: Any, values: dict[str, Any], version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    made = documents(manifests.rendered(values))

    for manifest in made:
        if not manifest["apiVersion"].startswith(("monitoring.", "keda.")):  # have no schema here
            validate.validate(manifest, version, strict=True)
    assert len(made) == {0: 8, len(EVERYTHING): 11, len(NOTHING): 3}[len(values)]


def test_the_command_of_the_page_installs_the_image_that_it_names(chart: Any) -> None:
    page = (DEPLOY / "README.md").read_text().replace("\\\n", " ")
    words = shlex.split(page.partition("    helm install ")[2].partition("\n")[0])
    options = dict.fromkeys(words[words.index(str(manifests.CHART.relative_to(ROOT))) + 1 :: 2])
    assert set(options) == {"--set", "--set-string"}

    values: dict[str, Any] = {}
    for option, text in pairwise(words):
        if option in options:
            parse = chart.parse_set_string if option == "--set" else chart.parse_set_string_values
            values |= {name: values.get(name, {}) | v if isinstance(v, dict) else v
                       for name, v in parse(text).items()}  # fmt: skip

    made = documents(manifests.rendered(values))
    images = {
        each["image"]
        for manifest in made
        if manifest["kind"] == "Deployment"
        for each in manifest["spec"]["template"]["spec"]["containers"]
    }
    assert images == {"REGISTRY/my-jobs:1"}
    assert any('"8"' in str(manifest) or "'8'" in str(manifest) for manifest in made)


def test_values_reach_the_manifests(chart: Any) -> None:
    made = {(each["kind"], each["metadata"]["name"]): each for each in documents(
        manifests.rendered(EVERYTHING))}  # fmt: skip
    spec = made["Deployment", "queuepool-consumer"]["spec"]
    inside = spec["template"]["spec"]
    [process] = inside["containers"]
    variables = {each["name"]: each.get("value") for each in process["env"]}

    assert "replicas" not in spec  # KEDA's
    scaled = made["ScaledObject", "queuepool-consumer"]["spec"]
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (2, 7)
    assert scaled["scaleTargetRef"]["name"] == "queuepool-consumer"
    [trigger] = scaled["triggers"]
    service = made["Service", "queuepool-coordinator"]
    [port] = service["spec"]["ports"]
    address = f"{service['metadata']['name']}.default:{port['port']}"
    assert trigger["metadata"] == {
        "scalerAddress": address, "standbys": "3", "tokenFromEnv": "SCALER_TOKEN",
    }  # fmt: skip
    assert "SCALER_TOKEN" in variables
    assert inside["terminationGracePeriodSeconds"] == 615
    assert inside["serviceAccountName"] == "bulk"
    assert process["image"] == "registry.local:5000/jobs:1"
    assert variables["CONSUMER_APP"] == "rows,mails"
    assert variables["CONSUMER_WORKERS"] == "16"
    assert variables["CONSUMER_DRAIN_S"] == "600"
    assert made["PrometheusRule", "queuepool"]["spec"]["groups"][0]["name"] == "queuepool"
    assert made["PodMonitor", "queuepool"]["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"


@pytest.mark.parametrize(
    "values",
    [
        {"partitions": 0},
        {"partition": 4},
        {"consumer": {"drainS": 3}},
        {"consumer": {"env": {"CONSUMER_MAX_WORKERS": 1000000}}},  # would be written as 1e+06
        {"stage": "two words"},
    ],
)
def test_values_that_cannot_be_meant_are_refused(chart: Any, values: dict[str, Any]) -> None:
    with pytest.raises(chart.HelmValuesError):
        manifests.rendered(values)
