"""Metrics and health: how often they are made, and what happens when they cannot be."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from queuepool.telemetry import metrics_server as exposition
from queuepool.telemetry.metrics_server import MetricsServer, Reused


class Clock:
    """Time that passes when told; what is made takes processor's time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = self.used_s = 100.0
        monkeypatch.setattr(exposition, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(exposition, "thread_time", lambda: self.used_s)

    def work(self, seconds: float) -> None:
        self.now_s += seconds
        self.used_s += seconds


def test_a_text_is_made_anew_when_four_times_its_making_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, made = Clock(monkeypatch), [0]

    def make() -> bytes:
        clock.work(0.5)
        made[0] += 1
        return b"%d" % made[0]

    reused = Reused(make)

    assert (reused.get(), reused.get()) == (b"1", b"1")
    clock.now_s += 1.9
    assert reused.get() == b"1"
    clock.now_s += 0.2
    assert reused.get() == b"2"


class Broken(Collector):
    """A collector that fails while told to."""

    fails = False

    def collect(self) -> Iterator[Metric]:
        if self.fails:
            raise RuntimeError("a collector with a secret")
        family = GaugeMetricFamily("seen", "Things seen.")
        family.add_metric([], 1)
        yield family


def ask(port: int, path: str, method: str = "GET") -> tuple[int, bytes, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body, reply.getheader("Content-Length")


@pytest.fixture
def broken() -> Broken:
    return Broken()


@pytest.fixture
def served(broken: Broken) -> Iterator[MetricsServer]:
    registry = CollectorRegistry()
    registry.register(broken)

    def health() -> str | None:
        return "odd \udc80 text" if broken.fails else None

    made = MetricsServer(registry, health)
    made.start()
    yield made
    made.stop()


def test_a_collector_that_fails_is_an_answer_and_one_traceback(
    served: MetricsServer, broken: Broken, caplog: pytest.LogCaptureFixture
) -> None:
    broken.fails = True
    for _ in range(3):
        status, body, _ = ask(served.port, "/metrics")
        assert (status, b"secret" in body) == (500, False)
    assert caplog.text.count("Traceback") == 1

    broken.fails = False
    assert ask(served.port, "/metrics")[0] == 200


def test_a_health_text_that_is_no_text_is_answered(served: MetricsServer, broken: Broken) -> None:
    broken.fails = True

    assert ask(served.port, "/healthz")[:2] == (503, b"odd \\udc80 text\n")


def test_head_is_answered_like_get_without_the_body(served: MetricsServer) -> None:
    _, body, length = ask(served.port, "/healthz")

    assert ask(served.port, "/healthz", "HEAD") == (200, b"", length)
    assert length == str(len(body))
    assert ask(served.port, "/metrics", "HEAD")[0] == 200
    assert ask(served.port, "/metrics", "DELETE")[0] == 405
    assert ask(served.port, "/nothing", "HEAD")[0] == 404
