"""The log on the page, and what the page keeps in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queuepool.client import log
from queuepool.errors import UnavailableError
from queuepool.models.doctor import ServerFigures
from queuepool.models.log import LogEntry, LogKind
from queuepool.rpc import acting
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.web.pages import system
from tests.unit.web.conftest import Browser, Site

HTML = "<script>alert(1)</script>"


def test_the_log_shows_what_people_did_and_what_happened(site: Site, operator: Browser) -> None:
    happened = LogEntry(kind=LogKind.OWNER, what="came", subject="partition 3", who="one:1")
    site.pool.carry_out(log.write([happened]))
    operator.post("/pause", reason=f"a reason {HTML}")

    (act,) = site.pool.log(kinds=["act"])
    assert (act.what, act.subject, act.who, act.via) == ("pause all", "all", "ada", "page")
    assert act.outcome.startswith("All partitions are held")
    text = operator.text("/log")
    assert "pause all" in text
    assert "partition 3" in text
    assert HTML not in operator.get("/log").text
    assert "partition 3" in operator.text("/log?kind=owner")
    assert "partition 3" not in operator.text("/log?kind=act")
    assert operator.get("/log?kind=nothing").status_code == 400


def test_a_partition_shows_who_owned_it_and_what_was_done_to_it(
    site: Site, operator: Browser
) -> None:
    subjects = ("partition 1", "partition 1: workers=5", "partition 10", "partition 1/video")
    entries = [
        LogEntry(kind=LogKind.OWNER, what=f"n{n}", subject=subject, who="one:1")
        for n, subject in enumerate(subjects)
    ]
    site.pool.carry_out(log.write(entries))

    text = operator.text("/partition/1")

    assert [f">n{n}<" in text for n in range(4)] == [True, True, False, False]


def test_the_system_shows_the_memory_of_servers_and_what_is_not_on_disk(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ServerFigures(
        name="main", used=3_210_000_000, limit=4_000_000_000, evicted=2_500, appendonly=False
    )

    def answer(_config: object) -> Iterator[object]:
        yield from ()
        return (told,)  # type: ignore[return-value]  # what the steps return

    monkeypatch.setattr(system, "ask_servers", answer)

    text = operator.text("/system")

    assert "3.2 GB of 4.0 GB" in text
    assert "2,500 evicted" in text
    assert '<span class="tag warn">no</span>' in text


def test_an_act_that_a_coordinator_keeps_is_not_kept_twice(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hold(_request: Any) -> api.HoldResponse:
        act = acting.current()
        assert act is not None
        told.append((act.who, act.via, act.why))
        act.logged = True
        return api.HoldResponse(changed=1)

    told: list[tuple[str, str, str]] = []
    monkeypatch.setattr(site.coordinator, "Hold", hold, raising=False)

    operator.post("/pause", reason="a reason")

    assert told == [("ada", "page", "a reason")]
    assert site.pool.log() == []


def test_an_act_is_done_though_it_cannot_be_kept(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_steps: Any) -> None:
        raise UnavailableError("the server is away")

    monkeypatch.setattr(site.pool, "carry_out", refuse)

    operator.post("/pause")

    note = operator.note()
    assert note.startswith("All partitions are held")
    assert "could not be written to the log: the server is away" in note
