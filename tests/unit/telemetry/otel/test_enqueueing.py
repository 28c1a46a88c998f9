"""The span of an enqueue call, and what its jobs carry."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from queuepool import After, InvalidInputError, Job, Registry
from queuepool.protocol import codec
from queuepool.testing import MemoryPool
from tests.paths import ROOT


def resize(photo: int = 0) -> None:
    """Do nothing."""


@pytest.fixture
def pool() -> MemoryPool:
    registry = Registry()
    for name in ("resize", "publish"):
        registry.task(name=name)(resize)
    return MemoryPool(registry=registry)


def carried(pool: MemoryPool) -> dict[str, set[str | None]]:
    """Return the traceparents of the jobs in the pool, by task."""
    found: dict[str, set[str | None]] = {}
    for body in pool.server.data(pool.partition(0).key).jobs.values():
        envelope = codec.decode_envelope(body)
        found.setdefault(envelope.task, set()).add(envelope.options.trace)
    return found


def text_of(span: ReadableSpan) -> str:
    of = span.get_span_context()
    assert of is not None
    return f"00-{of.trace_id:032x}-{of.span_id:016x}-{of.trace_flags:02x}"


def test_a_job_carries_the_span_of_its_call_which_is_within_the_current_one(
    pool: MemoryPool, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("app").start_as_current_span("request"):
        job = pool.enqueue("resize", {"photo": 1}, partition_key="album")

    call, request = spans.get_finished_spans()
    assert carried(pool) == {"resize": {text_of(call)}}
    assert call.parent == request.get_span_context()
    assert (call.name, call.kind) == ("enqueue resize", trace.SpanKind.PRODUCER)
    assert dict(call.attributes or {}) == {
        "messaging.system": "queuepool",
        "messaging.operation.type": "send",
        "messaging.operation.name": "enqueue",
        "messaging.destination.name": "resize",
        "messaging.destination.partition.id": "0",
        "messaging.message.id": job.job_id,
    }


def test_the_jobs_of_a_bulk_call_and_its_continuation_share_one_span(
    pool: MemoryPool, spans: InMemorySpanExporter
) -> None:
    rows = [{"photo": n} for n in range(300)]
    pool.enqueue_many("resize", rows, partition_key="album", then=After("publish"))

    (call,) = spans.get_finished_spans()
    text = text_of(call)
    assert carried(pool) == {"resize": {text}, "publish": {text}}
    assert (call.attributes or {})["messaging.batch.message_count"] == 300


def test_jobs_of_several_tasks_are_enqueued_by_a_span_without_a_destination(
    pool: MemoryPool, spans: InMemorySpanExporter
) -> None:
    pool.enqueue_many([Job({}, task="resize"), Job({}, task="publish")], partition_key="album")

    (call,) = spans.get_finished_spans()
    assert call.name == "enqueue"
    assert carried(pool) == {"resize": {text_of(call)}, "publish": {text_of(call)}}


def test_an_async_pool_does_the_same(pool: MemoryPool, spans: InMemorySpanExporter) -> None:
    async def enqueue() -> None:
        async with pool.asyncio() as aio:
            await aio.enqueue("resize", {"photo": 1}, partition_key="album")
            await aio.enqueue_many("resize", [{"photo": 2}], partition_key="album")

    asyncio.run(enqueue())

    calls = spans.get_finished_spans()
    assert carried(pool) == {"resize": {text_of(call) for call in calls}}
    assert len(calls) == 2


def test_a_rejected_call_ends_its_span_with_the_type_of_the_error_only(
    pool: MemoryPool, spans: InMemorySpanExporter
) -> None:
    with pytest.raises(InvalidInputError):
        pool.enqueue("resize", {"photo": float("nan")}, partition_key="album")

    (call,) = spans.get_finished_spans()
    assert (call.attributes or {})["error.type"] == "InvalidInputError"
    assert call.status.status_code is trace.StatusCode.ERROR
    assert call.status.description is None
    assert call.events == ()


def test_without_a_provider_jobs_carry_nothing(pool: MemoryPool) -> None:
    pool.enqueue("resize", {"photo": 1}, partition_key="album")

    assert carried(pool) == {"resize": {None}}


_WITHOUT = """
import sys
sys.modules["opentelemetry"] = None  # as if it were not installed
import consumer.__main__, coordinator.__main__
from queuepool.process.exporting import exported
from queuepool.testing import MemoryPool
with exported(None, "a service"):
    MemoryPool().enqueue("resize", {"photo": 1}, partition_key="album")
print([name for name in sys.modules if name.startswith("opentelemetry.")])
"""


@pytest.mark.thorough
def test_nothing_needs_opentelemetry_to_be_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "[]\n", done.stderr
    assert 'pip install "queuepool[otel]"' in done.stderr


@pytest.mark.thorough
def test_a_provider_that_the_environment_names_is_in_use_before_anyone_asked_for_it() -> None:
    code = (
        "from opentelemetry import trace\n"
        "from queuepool.telemetry.spans import in_use\n"
        "print(trace._TRACER_PROVIDER, in_use(), type(trace.get_tracer_provider()).__name__)\n"
    )
    for named, expected in (("sdk_tracer_provider", "True TracerProvider"), (None, "False Proxy")):
        variables = {"OTEL_PYTHON_TRACER_PROVIDER": named} if named else {}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT, env={k: v for k, v in os.environ.items() if "OTEL" not in k} | variables,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.startswith(f"None {expected}"), (done.stdout, done.stderr)
