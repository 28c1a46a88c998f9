"""The metrics of a registry by OTLP and as OpenMetrics: the same names and figures, exemplars."""

from __future__ import annotations

import urllib.request

import pytest
from opentelemetry.sdk.metrics.export import Gauge, Histogram, Metric, Sum
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry
from prometheus_client import Counter as Count
from prometheus_client import Gauge as Level
from prometheus_client import Histogram as Spread
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from consumer.telemetry.counted import Histogram as Buckets
from queuepool.errors import ConfigurationError
from queuepool.telemetry.metrics_server import MetricsServer
from queuepool.telemetry.otel.environment import exporter, milliseconds, wanted
from queuepool.telemetry.otel.metrics import converted

_IDS = {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"}


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Count("jobs_total", "Jobs.", ["task"], registry=registry).labels("send").inc(3)
    Level("waiting", "Jobs that wait.", registry=registry).set(7)
    spread = Spread("run_seconds", "Time.", buckets=(0.1, 1.0), registry=registry)
    for value in (0.05, 0.5, 0.6, 5.0):
        spread.observe(value, _IDS if value == 0.5 else None)
    return registry


def metrics_of(registry: CollectorRegistry) -> dict[str, Metric]:
    data = converted(registry.collect(), Resource({}), 1, 2)
    return {m.name: m for m in data.resource_metrics[0].scope_metrics[0].metrics}


def test_counters_and_gauges_have_their_labels_and_values(registry: CollectorRegistry) -> None:
    found = metrics_of(registry)

    jobs, waiting = found["jobs"].data, found["waiting"].data
    assert isinstance(jobs, Sum)
    assert isinstance(waiting, Gauge)
    assert jobs.is_monotonic
    assert [(p.attributes, p.value) for p in jobs.data_points] == [({"task": "send"}, 3)]
    assert [p.value for p in waiting.data_points] == [7]


def test_a_histogram_has_counts_of_each_bucket_a_unit_and_links(
    registry: CollectorRegistry,
) -> None:
    metric = metrics_of(registry)["run_seconds"]

    assert isinstance(metric.data, Histogram)
    (point,) = metric.data.data_points
    assert (metric.unit, metric.description) == ("s", "Time.")
    assert (point.explicit_bounds, point.bucket_counts) == ([0.1, 1.0], [1, 2, 1])
    assert point.count == 4
    assert point.sum == pytest.approx(6.15)
    (link,) = point.exemplars
    assert (f"{link.trace_id:032x}", f"{link.span_id:016x}") == tuple(_IDS.values())
    assert link.value == 0.5


def test_a_client_that_accepts_openmetrics_gets_exemplars_others_do_not(
    registry: CollectorRegistry,
) -> None:
    server = MetricsServer(registry, lambda: None)
    server.start()
    url = f"http://127.0.0.1:{server.port}/metrics"
    try:
        accept = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}
        with urllib.request.urlopen(urllib.request.Request(url, headers=accept)) as reply:
            kind, text = reply.headers["Content-Type"], reply.read().decode()
        with urllib.request.urlopen(url) as reply:
            plain = reply.read().decode()
    finally:
        server.stop()

    assert kind.startswith("application/openmetrics-text")
    families = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]  # it is untyped
    assert {"jobs", "waiting", "run_seconds"} == {family.name for family in families}
    assert _IDS["trace_id"] in text
    assert _IDS["trace_id"] not in plain


def test_a_bucket_keeps_the_latest_trace() -> None:
    histogram = Buckets()
    histogram.observe([0.3, 0.4])
    histogram.link(0.3, ("1" * 32, "2" * 16))
    histogram.link(0.4, ("3" * 32, "4" * 16))

    linked = [bucket[2] for bucket in histogram.buckets() if bucket[2] is not None]
    assert [each.labels["span_id"] for each in linked] == ["4" * 16]


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({}, []),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, ["otlp"]),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318"}, ["otlp"]),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://collector:4318"}, []),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, ["otlp", "console"]),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, []),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, []),
    ],
)
def test_only_variables_that_name_an_exporter_or_its_endpoint_begin_an_export(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], names: list[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert wanted("traces") == names


@pytest.mark.parametrize(
    ("variable", "value", "advice"),
    [
        ("OTEL_TRACES_EXPORTER", "jaeger", "use otlp, console or none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "install opentelemetry-exporter-otlp-proto-grpc"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon", "use http/protobuf or grpc"),
    ],
)
def test_an_exporter_that_is_not_here_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, advice: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(ConfigurationError, match=f"{variable}='{value}'.*{advice}"):
        exporter("traces", value if variable.endswith("EXPORTER") else "otlp")


def test_an_interval_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "soon")

    with pytest.raises(ConfigurationError, match="OTEL_METRIC_EXPORT_INTERVAL='soon'"):
        milliseconds("OTEL_METRIC_EXPORT_INTERVAL", 60_000)
