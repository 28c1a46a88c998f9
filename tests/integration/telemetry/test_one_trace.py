"""A web request, its jobs, a retry, their continuation and what that enqueues: one trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from queuepool import After, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.integration.consumer.processes import ConsumerProcess
from tests.integration.telemetry.collector import Collector
from tests.waiting import wait_until

LINKED = ("queuepool_job_wait_seconds", "queuepool_job_process_seconds")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector that gets the spans of this process as well, which is service web."""
    with Collector() as collector:
        provider = TracerProvider(
            resource=Resource.create({"service.name": "web"}), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=f"{collector.url}/v1/traces")
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
        yield collector
        provider.shutdown()


def test_from_a_web_request_to_a_continuation_it_is_one_tree(
    redis_url: str, stage: str, tmp_path: Path, collector: Collector
) -> None:
    config = PoolConfig(topology=single(redis_url, 1), keyspace=Keyspace(stage))
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
    }
    with QueuePool(config=config) as pool:
        tracer = trace.get_tracer("app")
        with tracer.start_as_current_span("POST /albums") as request:
            root = f"{request.get_span_context().span_id:016x}"
            pool.enqueue_many(
                "resize",
                [{"photo": 0}, {"photo": 1}],
                partition_key="album-7",
                then=After("publish", {"album": 7}),
            )
        consumer = ConsumerProcess(
            redis_url,
            stage,
            tmp_path,
            environment=told,
            app="tests.apps.traced",
            pools="default=4,cpu=process:1",
        )
        try:
            wait_until(
                lambda: collector.named("run tell"), 60.0, f"the last job of the trace: {tmp_path}"
            )
            for name in LINKED:
                wait_until(lambda name=name: exemplars(collector, name), 30.0, f"of {name}")  # type: ignore[misc]
        finally:
            consumer.stop()
            consumer.kill()

    assert collector.tree(root) == [
        "POST /albums",
        "  enqueue resize",
        "    run publish",
        "      enqueue tell",
        "        run tell",
        "        wait tell",
        "    run resize",
        "    run resize",
        "    run resize",
        "    wait publish",
        "    wait resize",
        "    wait resize",
    ], consumer.log
    assert len({span.trace_id for span in collector.spans}) == 1
    assert {span.service for span in collector.spans} == {"web", "queuepool-consumer"}

    failed, *others = sorted(collector.named("run resize"), key=lambda span: not span.failed)
    assert failed.events == ["retry"]
    assert failed.attributes["error.type"] == "ConnectionError"
    assert [span.failed for span in others] == [False, False]
    again = [span for span in others if span.attributes["queuepool.attempt"] == 2]
    ids = [span.attributes["messaging.message.id"] for span in (failed, *again)]
    assert len(ids) == 2
    assert ids[0] == ids[1]

    spans = {
        (span.trace_id, span.span_id) for span in collector.spans if span.name.startswith("run ")
    }
    for name in LINKED:
        assert exemplars(collector, name) <= spans, name


def exemplars(collector: Collector, name: str) -> set[tuple[str, str]]:
    """Return the traces and their spans that a histogram links to."""
    metric = collector.metrics.get(f"queuepool-consumer {name}")
    points = metric.histogram.data_points if metric is not None else ()
    return {
        (each.trace_id.hex(), each.span_id.hex()) for point in points for each in point.exemplars
    }
