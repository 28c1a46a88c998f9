"""The span of an execution: where it belongs, how it ends, and what a handler sees."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from consumer.workers import spanning
from consumer.workers.hooks import HookRunner
from consumer.workers.runner import Attempt
from queuepool import PermanentError, RetryLater
from queuepool.protocol import codec
from queuepool.telemetry.otel.spans import remote
from tests.unit.consumer.workers.executing import Bench, make_body, make_job

_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = codec.Options(trace=f"00-{_TRACE}-{_SPAN}-01")


@pytest.fixture
def bench(spans: InMemorySpanExporter) -> Iterator[Bench]:
    bench = Bench()
    bench.runner._trace = spanning.tracer(3, "video")
    yield bench
    bench.loop.stop()
    bench.keeper.stop()


def run_of(spans: InMemorySpanExporter) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == "run t"]
    return found


def facts(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_an_execution_is_within_the_call_that_enqueued_it(
    bench: Bench, spans: InMemorySpanExporter
) -> None:
    outcome = bench.run(lambda: None, options=PARENT)

    run = run_of(spans)
    assert run.parent is not None
    assert f"{run.parent.trace_id:032x} {run.parent.span_id:016x}" == f"{_TRACE} {_SPAN}"
    assert run.kind is trace.SpanKind.CONSUMER
    assert facts(run) == {
        "messaging.system": "queuepool",
        "messaging.operation.type": "process",
        "messaging.operation.name": "run",
        "messaging.destination.name": "t",
        "messaging.destination.partition.id": "3/video",
        "messaging.message.id": "job-1",
        "queuepool.attempt": 1,
        "queuepool.group": "group-\\xff",
        "queuepool.end": "done",
    }
    assert outcome.trace == (_TRACE, f"{run.context.span_id:016x}")


def test_the_wait_for_the_first_attempt_is_a_span_beside_it(
    bench: Bench, spans: InMemorySpanExporter
) -> None:
    bench.run(lambda: None, options=PARENT)

    wait, run = spans.get_finished_spans()
    assert (wait.name, wait.parent, wait.end_time) == ("wait t", run.parent, run.start_time)
    assert wait.start_time is not None
    assert wait.end_time is not None
    assert wait.end_time - wait.start_time >= 1e9  # the job was enqueued a second before its claim


def test_what_a_handler_does_is_within_its_execution(
    bench: Bench, spans: InMemorySpanExporter
) -> None:
    seen = []

    def handler() -> None:
        seen.append(trace.get_current_span().get_span_context())

    async def coroutine() -> None:
        handler()

    bench.run(handler, options=PARENT)
    bench.run(coroutine, options=PARENT)

    runs = [span.context for span in spans.get_finished_spans() if span.name == "run t"]
    assert seen == runs


@pytest.mark.parametrize("error", [None, ValueError("of a card")])
def test_after_an_execution_its_thread_is_where_it_was_before(
    bench: Bench, spans: InMemorySpanExporter, error: Exception | None
) -> None:
    def handler() -> None:
        trace.get_tracer("app").start_as_current_span("left open").__enter__()
        if error is not None:
            raise error

    with trace.get_tracer("app").start_as_current_span("of the thread") as own:
        bench.run(handler, options=PARENT)

        assert trace.get_current_span() is own
    assert run_of(spans).end_time is not None


def test_a_span_of_another_process_is_current_for_one_execution(
    spans: InMemorySpanExporter,
) -> None:
    with remote(PARENT.trace or ""), trace.get_tracer("app").start_as_current_span("in it"):
        pass
    with trace.get_tracer("app").start_as_current_span("after it"):
        pass

    within, after = spans.get_finished_spans()
    assert within.parent is not None
    assert f"{within.parent.span_id:016x}" == _SPAN
    assert after.parent is None


@pytest.mark.parametrize(
    ("error", "attempts", "end", "kind", "events"),
    [
        (ValueError("of a card"), 3, "failed", "ValueError", ["retry"]),
        (PermanentError("of a card"), 3, "dead", "PermanentError", []),
        (RetryLater(5.0), 3, "later", None, ["retry"]),
    ],
)
def test_an_attempt_that_failed_says_so_without_the_message(
    bench: Bench,
    spans: InMemorySpanExporter,
    error: Exception,
    attempts: int,
    end: str,
    kind: str | None,
    events: list[str],
) -> None:
    def handler() -> None:
        raise error

    bench.run(handler, options=PARENT, max_attempts=attempts)

    run = run_of(spans)
    assert facts(run)["queuepool.end"] == end
    assert facts(run).get("error.type") == kind
    assert (run.status.status_code is trace.StatusCode.ERROR) == (kind is not None)
    assert [event.name for event in run.events] == events
    assert "of a card" not in run.to_json()


@pytest.mark.parametrize("text", [None, "", "00-0-0-0", "of a stranger", "00-" + "f" * 5000])
def test_a_job_without_a_readable_traceparent_begins_a_trace(
    bench: Bench, spans: InMemorySpanExporter, text: str | None
) -> None:
    bench.run(lambda: None, options=codec.Options(trace=text))

    assert run_of(spans).parent is None


def test_a_call_that_is_not_sampled_leaves_no_span_of_its_jobs(
    bench: Bench, spans: InMemorySpanExporter
) -> None:
    outcome = bench.run(lambda: None, options=codec.Options(trace=f"00-{_TRACE}-{_SPAN}-00"))

    assert spans.get_finished_spans() == ()
    assert outcome.trace is None


def test_hooks_are_told_the_trace(bench: Bench) -> None:
    bench.registry.task(name="t")(lambda: None)
    job = make_job(make_body("t", {}, PARENT))
    attempt = bench.runner.begin(job)
    assert isinstance(attempt, Attempt)

    HookRunner(bench.registry).started(attempt)

    assert job.run is not None
    assert job.run.trace_id == _TRACE
