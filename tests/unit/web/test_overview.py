"""The overview: what it shows, what moves, and how much it sends."""

import asyncio
import json
import logging
import time
from typing import Any

import pytest

from queuepool.models.doctor import UNREAD, Finding, Severity, Unjudged, Verdict
from queuepool.rpc.v1 import move_pb2, tenant_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.web.live.board import Board
from queuepool.web.live.hub import MOST_WATCHERS, Hub, TooManyWatchersError
from queuepool.web.pages import overview
from queuepool.web.verdict import verdict_of
from tests.unit.web.conftest import OPERATOR, Browser, MakeSite, Site
from tests.unit.web.coordinator import FakeCoordinator, state


def test_the_overview_shows_numbers_partitions_and_who_leads(site: Site, operator: Browser) -> None:
    site.coordinator.states[2] = state(2, backlog=1234, oldest_waiting_ms=40_000)
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time())

    text = operator.text("/")

    assert '<span id="t-backlog">1,234</span>' in text
    assert 'class="h4" href="partition/2"' in text
    assert "led by host:1" in text
    assert "No problems found" in text


def test_the_largest_tenants_are_on_the_overview_where_there_are_tenants(
    site: Site, operator: Browser
) -> None:
    assert "Largest tenants" not in operator.text("/")
    tenants = [tenant_pb2.Tenant(name="<b>acme", ready=1234, in_flight=5, held_since_ms=1)]
    site.coordinator.answers["ListTenants"] = api.ListTenantsResponse(tenants=tenants)
    site.desk.forget()

    shown = operator.get("/").text

    assert "Largest tenants" in shown
    assert '&lt;b&gt;acme</a></td><td class="num">1,234</td>' in shown
    assert '<span class="tag warn">held</span>' in shown


def test_all_partitions_are_paused_and_resumed_and_it_is_written_down(
    site: Site, operator: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "queuepool.web.audit"):
        operator.post("/pause", reason="database is down")
    note = operator.note()
    operator.post("/resume")

    (_, hold), (_, release) = [a for a in site.coordinator.asked if a[0] in ("Hold", "Release")]
    assert (hold.all, hold.reason) == (True, "database is down (by ada on the page)")
    assert release.all
    assert note == "All partitions are held; 1 were not held before. Running jobs continue."
    line = caplog.records[-1].__dict__
    assert (line["who"], line["why"], line["outcome"]) == ("ada", "database is down", "done")


def test_a_thousand_partitions_are_one_small_page_and_smaller_updates(make_site: MakeSite) -> None:
    site = make_site(1000)
    board, cluster = site.desk.board, site.coordinator.cluster
    browser = site.browser(OPERATOR)
    now_s = time.time()
    for second in range(600):
        states = [state(n, backlog=(n * second) % 977, oldest_waiting_ms=n * second)
                  for n in range(0 if second % 100 == 99 else 990, 1000)]  # fmt: skip
        board.take(states, cluster, now_s - 600 + second)
    board.take([state(n, backlog=n) for n in range(1000)], cluster, now_s)

    page = browser.get("/")
    before = dict(asyncio.run(overview._patch(site.desk)))
    board.take([state(n, backlog=7 * n) for n in range(1000)], cluster, now_s + 5)
    after = asyncio.run(overview._patch(site.desk))
    update = {name: text for name, text in after.items() if before[name] != text}

    assert len(page.content) < 100_000
    assert 50 < len(json.dumps(update)) < 5_000


def test_the_verdict_names_what_is_wrong_the_worst_first() -> None:
    board, coordinator = Board(), FakeCoordinator(4)
    states = [state(0, owned=False), state(1, held_since_ms=5), state(2, dead=3), state(3)]
    board.take(states, coordinator.cluster, 100.0)  # of a release without a doctor

    verdict = verdict_of(board.look, 101.0)

    assert (verdict.severity, verdict.text) == ("bad", "no consumer owns partition 0")
    assert [one.severity for one in verdict.findings] == ["bad", "remark", "remark"]
    assert verdict_of(board.look, 200.0).text.startswith("no data for 1m40s")


def test_notices_are_told_as_the_doctor_tells_them() -> None:
    board, coordinator = Board(), FakeCoordinator(2)
    notices = [
        Finding(
            kind="held", severity=Severity.NOTICE, subject=f"group {name}", what="held for 2d",
            meaning="", remedy="",
        )
        for name in "ab"
    ]  # fmt: skip

    def told(states: list[Any], *findings: Finding) -> tuple[str, str]:
        doctor = Verdict(at_ms=9, findings=findings)
        board.take(states, coordinator.cluster, 100.0, doctor)
        verdict = verdict_of(board.look, 101.0)
        assert (verdict.text == "No problems found") is doctor.well
        return verdict.severity, verdict.text

    states = [state(0, held_since_ms=5), state(1, dead=3)]  # listed, but no notices of the doctor
    assert told(states)[0] == "good"
    assert told(states, notices[0]) == ("note", "1 notice: group a: held for 2d")
    assert told(states, *notices) == ("note", "2 notices: group a: held for 2d, and 1 more")


def test_the_first_line_is_the_doctors_verdict(site: Site, operator: Browser) -> None:
    finding = Finding(
        kind="no-owner", severity=Severity.CRITICAL, subject="partition 2", since_ms=5,
        what="nobody owns it", meaning="its jobs <wait>", remedy="queuepool consumer",
    )  # fmt: skip
    doctor = Verdict(at_ms=9, findings=(finding,))
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time(), doctor)

    answer = operator.get("/").text

    assert '<span class="text" id="verdict-text">partition 2: nobody owns it</span>' in answer
    assert 'data-severity="bad"' in answer
    assert "its jobs &lt;wait&gt;" in answer
    assert '<a href="/partition/2">' in answer


def test_what_could_not_be_read_is_not_called_well(site: Site, operator: Browser) -> None:
    doctor = Verdict(at_ms=9, unjudged=(Unjudged("no-leader", UNREAD),))
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time(), doctor)

    assert "No problems found in what could be read" in operator.text("/")


def test_a_coordinator_that_is_away_is_the_first_line_and_the_last_numbers_stay(
    site: Site, operator: Browser
) -> None:
    site.coordinator.states[0] = state(0, backlog=77)
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time() - 30)
    site.desk.board.fail("no coordinator responds")

    text = operator.text("/")

    assert "no coordinator responds; the data shown is 30s old" in text
    assert '<span id="t-backlog">77</span>' in text


def test_watchers_share_what_is_rendered_and_get_only_what_changed() -> None:
    rendered = []

    async def watch() -> list[list[str]]:
        hub = Hub()
        hub.bind()

        async def render() -> dict[str, str]:
            rendered.append(1)
            return {"a": str(len(rendered)), "b": "same"}

        async def one() -> list[str]:
            events = hub.stream("x", render)
            found = [await anext(events) for _ in range(2)]
            hub.changed()
            found.append(await anext(events))
            await events.aclose()
            return found[1:]

        return await asyncio.gather(*(one() for _ in range(20)))

    got = asyncio.run(watch())

    assert len(rendered) <= 3
    assert all(json.loads(first[6:]).keys() == {"a", "b"} for first, _ in got)
    assert all(json.loads(second[6:]).keys() == {"a"} for _, second in got)


def test_one_watcher_too_many_is_refused() -> None:
    async def fill() -> None:
        hub = Hub()
        hub.bind()
        hub.watchers = MOST_WATCHERS
        with pytest.raises(TooManyWatchersError):
            hub.stream("x", lambda: asyncio.sleep(0, {}))

    asyncio.run(fill())


def test_a_move_is_shown_while_it_is_under_way_and_on_the_system_page_ever_after(
    site: Site, operator: Browser
) -> None:
    move = move_pb2.Move(stage="moving", before=4, to=8, slots_moved=512, slots=2048,
                         slots_closed=3, source=1, dest=6, asked_ms=1_700_000_000_000,
                         reason="group <b>a</b> runs 3 jobs")  # fmt: skip
    site.coordinator.answers["ListMoves"] = api.ListMovesResponse(moves=[move])
    shown = operator.get("/").text

    assert "A move from 4 to 8 partitions is under way" in shown
    assert "512 of 2,048 slots are there, 3 on their way from partition 1 to 6" in shown
    assert "group &lt;b&gt;a&lt;/b&gt; runs 3 jobs" in shown
    assert 'width="250"' in shown

    ended = move_pb2.Move(stage="ended", before=4, to=4)
    site.coordinator.answers["ListMoves"] = api.ListMovesResponse(moves=[ended])
    site.desk.forget()
    assert "A move" not in operator.text("/")
    assert "A move of slots to other places has ended" in operator.text("/system")
