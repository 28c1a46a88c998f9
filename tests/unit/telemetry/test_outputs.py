"""What a process tells of itself: metrics and health over HTTP, log lines, events."""

from __future__ import annotations

import http.client
import json
import logging
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Counter

from queuepool.telemetry import logs
from queuepool.telemetry.events import fan_out, ignore
from queuepool.telemetry.metrics_server import MetricsServer


def ask(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.fixture
def problem() -> list[str]:
    return []


@pytest.fixture
def exposition(problem: list[str]) -> Iterator[MetricsServer]:
    registry = CollectorRegistry()
    Counter("seen", "Things seen.", registry=registry).inc(3)
    made = MetricsServer(registry, lambda: problem[0] if problem else None)
    made.start()
    yield made
    made.stop()


def test_metrics_and_health_answer(exposition: MetricsServer, problem: list[str]) -> None:
    assert "seen_total 3.0" in ask(exposition.port, "/metrics")[1]
    assert ask(exposition.port, "/metrics?x=1")[0] == 200
    assert ask(exposition.port, "/healthz") == (200, "ok\n")

    problem.append("no turn for 30 s")

    assert ask(exposition.port, "/healthz") == (503, "no turn for 30 s\n")
    assert ask(exposition.port, "/other")[0] == 404


def test_it_stops_before_it_starts_and_twice() -> None:
    made = MetricsServer(CollectorRegistry(), lambda: None)
    made.stop()
    made.stop()


def test_after_a_stop_the_port_is_free(exposition: MetricsServer) -> None:
    exposition.stop()

    again = MetricsServer(CollectorRegistry(), lambda: None, port=exposition.port)
    again.stop()
    with pytest.raises(OSError, match="refused"):
        ask(exposition.port, "/healthz")


def record(**extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": "hello %s", "args": ("you",), "levelname": "INFO"})
    vars(made).update(extra)
    return made


def test_a_json_line_holds_message_and_fields() -> None:
    line = json.loads(logs.JsonFormatter().format(record(partition=3, odd=object())))

    assert (line["message"], line["level"], line["partition"]) == ("hello you", "info", 3)
    assert line["odd"].startswith("<object")
    assert line["time"].endswith("+00:00")


def test_a_json_line_stays_one_line_whatever_it_holds() -> None:
    try:
        raise RuntimeError("two\nlines")
    except RuntimeError as error:
        made = record(text="a\nb", exc_info=(type(error), error, error.__traceback__))

    line = logs.JsonFormatter().format(made)

    assert "\n" not in line
    assert "RuntimeError: two\nlines" in json.loads(line)["exception"]


def test_a_text_line_ends_with_its_fields() -> None:
    assert logs.TextFormatter("%(message)s").format(record(partition=3)) == "hello you partition=3"


def test_every_listener_hears_although_one_fails(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[object] = []

    def fail(event: object) -> None:
        raise RuntimeError("broken listener")

    fan_out([ignore, fail, heard.append])("event")

    assert heard == ["event"]
    assert "an event listener failed on str" in caplog.text


def test_a_message_is_not_repeated_as_a_field() -> None:
    made = record(partition=3, color_message="hello \x1b[36m%s\x1b[0m")

    assert "color_message" not in json.loads(logs.JsonFormatter().format(made))
    assert logs.TextFormatter("%(message)s").format(made) == "hello you partition=3"
