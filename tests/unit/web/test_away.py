"""Pages while a server, or the coordinator, is away: they say so, and soon."""

import socket
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from queuepool.errors import UnavailableError
from queuepool.models import Limit
from queuepool.testing.server import MemoryServer
from queuepool.web.assembly import _status_of
from queuepool.web.source import NoCoordinatorError, Source
from tests.unit.web.conftest import VIEWER, MakeSite, Site
from tests.unit.web.coordinator import Away

READS = (
    *("/find?state=dead", "/find?q=words", "/errors", "/schedules", "/flows", "/flow?name=b1-x"),
    *("/log", "/group?key=mails", "/job?id=0123456789abcdef", "/groups", "/partition/1"),
)


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    made = make_site()
    made.pool.config = replace(made.pool.config, retry_for_s=8.0)  # as producers do
    made.pool._network.config = made.pool.config
    return made


def test_no_page_waits_as_long_for_a_server_that_is_away_as_a_producer_does(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = site.browser(VIEWER)

    def away(*_given: Any) -> Any:
        raise UnavailableError("server memory: no answer")

    for name in ("run", "run_many"):
        monkeypatch.setattr(MemoryServer, name, away)
    took = {}
    for path in READS:
        began_s = time.monotonic()
        answer = viewer.get(path)
        took[path] = time.monotonic() - began_s
        assert answer.status_code in (200, 400, 503), path

    assert {path: s for path, s in took.items() if s > 6} == {}


@pytest.mark.parametrize("path", ["/", "/partition/1", "/groups", "/scaling"])
def test_pages_do_not_wait_long_for_parts_that_a_silent_coordinator_has(
    site: Site, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    viewer = site.browser(VIEWER)
    over = threading.Event()

    def silent(_request: Any) -> Any:
        over.wait(30)
        raise Away

    for name in ("ListDecisions", "ListTenants", "ListMoves", "Explain", "GetPolicy"):
        monkeypatch.setattr(site.coordinator, name, silent, raising=False)
    site.desk.forget()
    began_s = time.monotonic()
    text = viewer.text(path)
    took_s = time.monotonic() - began_s
    over.set()

    assert "no answer in time" in text
    assert took_s < 20


def test_limits_are_read_from_the_servers_when_no_coordinator_answers(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, asked = site.browser(VIEWER), []
    site.pool.limits.set(Limit("mail", rate=20))

    def silent(request: Any) -> Any:
        asked.append(request)
        raise Away

    monkeypatch.setattr(site.coordinator, "ListLimits", silent, raising=False)
    assert "20/s" in viewer.text("/limits")
    assert len(asked) == 1

    site.desk.forget()
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time() - 20)
    assert "20/s" in viewer.text("/limits")
    assert len(asked) == 1  # one that is silent would take its deadline


def test_limits_need_no_coordinator(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = site.browser(VIEWER)
    site.pool.limits.set(Limit("mail", rate=20))

    def nobody(_source: Any) -> Any:
        raise NoCoordinatorError

    monkeypatch.setattr(type(site.desk.source), "client", property(nobody))

    assert "20/s" in viewer.text("/limits")
    answer = viewer.get("/scaling")
    assert answer.status_code in (200, 503)
    assert _status_of(NoCoordinatorError()) == 503


def test_reads_have_connections_that_wait_shortly_and_acts_those_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("QUEUEPOOL_URL", f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        source = Source()
        began_s = time.monotonic()
        with pytest.raises(UnavailableError):
            source.reads.schedules.list()
        took_s = time.monotonic() - began_s
        acts = source.pool.config
        source.close()

    assert took_s < 9  # the route, and the question
    assert (acts.timeout_s, acts.retry_for_s) == (5.0, 10.0)
