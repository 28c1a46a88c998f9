"""Streams of updates: they survive errors, and always say whether what is shown is so."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from queuepool.errors import UnavailableError
from queuepool.models.doctor import Finding, Severity, Verdict
from queuepool.rpc.v1 import decision_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.web.live import hub as streams
from queuepool.web.live.hub import Hub, TooManyWatchersError
from queuepool.web.pages import groups, partition
from tests.unit.web.conftest import OPERATOR, Browser, MakeSite, Site
from tests.unit.web.coordinator import Away, state

Next = Callable[[], Awaitable[dict[str, str]]]
AWAY = UnavailableError("server main: no answer")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_PAUSES_S", (0.01,), raising=False)


async def patch_of(events: AsyncIterator[str]) -> dict[str, str]:
    """Return the next update of a stream."""
    async with asyncio.timeout(5):
        async for event in events:
            if event.startswith("data: "):
                found: dict[str, str] = json.loads(event[6:])
                return found
    raise AssertionError("the stream has ended")


def watch(site: Site, module: Any, path: str, test: Callable[[Next], Awaitable[None]],
          query: str = "", **params: Any) -> None:  # fmt: skip
    """Open the stream of a page, and give a test its updates one by one."""
    [route] = [one for one in module.routes(site.desk) if one.path == path]
    scope = {
        "type": "http", "path_params": params, "query_string": query.encode(), "headers": [],
        "state": {"user": SimpleNamespace(name="ada")},
    }  # fmt: skip

    async def run() -> None:
        site.desk.hub.bind()
        answer = await route.endpoint(Request(scope))
        assert answer.status_code == 200
        events = answer.body_iterator
        try:
            await test(lambda: patch_of(events))
        finally:
            await events.aclose()

    asyncio.run(run())


def observe(site: Site, doctor: Verdict | None = None) -> None:
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time(), doctor)
    site.desk.hub.changed()


def test_a_stream_survives_errors_tells_them_once_and_goes_on() -> None:
    told: list[tuple[str, str, bool]] = []
    rendered: list[dict[str, str] | Exception] = [
        {"a": "1"}, OSError("x"), OSError("y"), OSError("z"), {"a": "2", "line": "well"},
    ]  # fmt: skip

    async def render() -> dict[str, str]:
        found = rendered.pop(0) if rendered else {"a": "3"}
        if isinstance(found, Exception):
            raise found
        return found

    def failed(name: str, error: Exception, last_s: float | None) -> dict[str, str]:
        told.append((name, str(error), last_s is not None))
        return {"line": str(error)}

    async def run() -> list[dict[str, str]]:
        hub = Hub(failed)
        hub.bind()
        events = hub.stream("group x", render, 0.01)
        found = [await patch_of(events) for _ in range(4)]
        assert hub.watchers == 1
        await events.aclose()
        return found

    got = asyncio.run(run())

    assert got == [{"a": "1"}, {"line": "x"}, {"a": "2", "line": "well"}, {"a": "3"}]
    assert told == [("group x", "x", True)]


def test_a_group_page_says_that_it_cannot_be_read_and_goes_on_when_it_can(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_LOOK_S", 0.01)
    site.browser(OPERATOR)
    site.pool.enqueue("send", {}, partition_key="mails")
    really = groups._group

    async def test(update: Next) -> None:
        assert (await update())["verdict-text"] == "No problems found"

        def away(*_given: Any) -> Any:
            raise AWAY

        group = really(site.pool, "mails", "")
        monkeypatch.setattr(type(group), "status", away)
        told = await update()
        assert told["verdict@data-severity"] == "bad"
        assert "this page could not be updated since " in told["verdict-text"]
        assert "server main: no answer" in told["verdict-text"]
        await asyncio.sleep(0.1)  # several tries
        monkeypatch.undo()
        site.pool.enqueue("send", {}, partition_key="mails")
        well = await update()
        assert (well["verdict-text"], well["s-ready"]) == ("No problems found", "2")

    with caplog.at_level(logging.WARNING, "queuepool.web"):
        watch(site, groups, "/group/live", test, "key=mails")

    assert [r.getMessage()[:30] for r in caplog.records] == ["/group?key=mails cannot be upd"]


def test_one_user_leaves_room_for_others_and_the_overview_always_has_a_place() -> None:
    async def render() -> dict[str, str]:
        return {"a": "1"}

    async def run() -> None:
        hub = Hub()
        hub.bind()
        opened = []

        async def watches(name: str, who: str) -> bool:
            try:
                opened.append(hub.stream(name, render, who=who))
            except TooManyWatchersError:
                return False
            await patch_of(opened[-1])
            return True

        mine = [await watches(f"group {n}", "vera") for n in range(101)]
        assert mine.count(True) == 100
        assert not mine[-1]
        assert await watches("group 7", "vera")  # which is one of his
        assert await watches("overview", "vera")
        assert all([await watches(f"partition {n}", "ada") for n in range(99)])
        assert not await watches("partition 99", "zoe")  # no room for anybody
        assert await watches("group 7", "zoe")
        for events in opened[:100]:
            await events.aclose()
        assert not await watches("group 100", "vera")  # what he has left ends only soon
        hub.changed()
        await asyncio.sleep(0.05)
        assert await watches("group 100", "vera")
        for events in opened:
            await events.aclose()

    asyncio.run(run())


def test_one_user_cannot_have_all_streams_of_a_channel() -> None:
    async def render() -> dict[str, str]:
        return {"a": "1"}

    async def run() -> None:
        hub = Hub()
        hub.bind()
        opened = [hub.stream("overview", render, who="vera") for _ in range(250)]
        for events in opened:
            await patch_of(events)
        with pytest.raises(TooManyWatchersError):
            hub.stream("overview", render, who="vera")
        hub.stream("overview", render, who="ada")
        for events in opened:
            await events.aclose()

    asyncio.run(run())


def test_a_group_that_nobody_knows_has_no_stream(
    site: Site, viewer: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert viewer.get("/group/live?key=nosuch1").status_code == 404
    monkeypatch.setattr(groups, "_LOOK_S", 0.01)
    site.pool.enqueue("send", {}, partition_key="mails")

    def away(*_given: Any) -> Any:
        raise AWAY

    monkeypatch.setattr(type(site.pool.group("mails")), "status", away)

    async def test(update: Next) -> None:
        assert "server main: no answer" in (await update())["verdict-text"]

    watch(site, groups, "/group/live", test, "key=mails")  # it goes on when there is an answer


def test_a_partition_page_follows_the_verdict(site: Site) -> None:
    site.browser(OPERATOR)
    finding = Finding(
        kind="no-owner", severity=Severity.CRITICAL, subject="partition <2>", what="nobody owns it",
        meaning="its jobs wait", remedy="queuepool consumer",
    )  # fmt: skip

    async def test(update: Next) -> None:
        assert (await update())["verdict-text"] == "No problems found"
        observe(site, Verdict(at_ms=9, findings=(finding,)))
        told = await update()
        assert told["verdict-text"] == "partition &lt;2&gt;: nobody owns it"
        assert told["verdict@data-severity"] == "bad"
        site.desk.board.fail("no coordinator responds")
        site.desk.hub.changed()
        assert (await update())["verdict-text"].startswith("no coordinator responds; the data")
        observe(site)
        assert (await update())["verdict-text"] == "No problems found"

    watch(site, partition, "/partition/{number:int}/live", test, number=2)


def test_numbers_of_a_partition_move_while_its_decisions_cannot_be_read(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.browser(OPERATOR)

    def away(_request: Any) -> Any:
        raise Away

    async def test(update: Next) -> None:
        await update()
        monkeypatch.setattr(site.coordinator, "ListDecisions", away, raising=False)
        site.desk.forget()
        site.coordinator.states[2] = state(2, backlog=77)
        observe(site)
        told = await update()
        assert told["t-backlog"] == "77"
        assert told["verdict-text"] == "decisions cannot be read: no coordinator responds"
        site.coordinator.states[2] = state(2, backlog=78, stale=True)
        observe(site, Verdict(at_ms=9))
        assert (await update())["verdict-text"] == "partition 2 has not been observed recently"
        site.coordinator.states.pop(2)
        observe(site, Verdict(at_ms=9))
        assert (await update())["verdict-text"] == "partition 2 is not observed any more"

    watch(site, partition, "/partition/{number:int}/live", test, number=2)


def test_an_update_of_a_partition_is_small(make_site: MakeSite) -> None:
    site = make_site(4)
    decisions = [
        decision_pb2.Decision(
            id=f"1-{n}", at_ms=round(time.time() * 1000) - 9_000 * n, partition=2,
            previous_target=n, target=n + 1, policy="sized", reason="many jobs wait " * 20,
        )
        for n in range(12)
    ]  # fmt: skip
    site.coordinator.answers["ListDecisions"] = api.ListDecisionsResponse(decisions=decisions)
    site.browser(OPERATOR)

    async def test(update: Next) -> None:
        await update()
        finding = Finding(
            kind="x", severity=Severity.WARNING, subject="partition 2", what="busy " * 200,
            meaning="", remedy="",
        )  # fmt: skip
        site.coordinator.states[2] = state(2, backlog=12_345_678, oldest_waiting_ms=10**6, busy=8)
        observe(site, Verdict(at_ms=9, findings=(finding,)))
        told = await update()
        assert told["verdict@data-severity"] == "warning"
        assert len(json.dumps(told)) < 5_000

    watch(site, partition, "/partition/{number:int}/live", test, number=2)
