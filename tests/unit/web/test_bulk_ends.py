"""The log records how bulk actions ended: how many jobs, how long, and whether it was complete."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from queuepool.errors import UnavailableError
from queuepool.models.log import LogEntry
from queuepool.testing import run_jobs
from queuepool.web import bulk
from queuepool.web.pages import bulks
from tests.unit.web.conftest import Browser, MakeSite, Site
from tests.unit.web.test_pages import dead, enqueue, registry
from tests.waiting import wait_until

DEAD = {"state": "dead", "error": "mailbox", "reason": "fixed now"}


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    made = make_site()
    made.pool.producer.registry = registry
    return made


def _bulks(site: Site) -> list[bulk.Bulk]:
    [stop_all] = site.desk.at_end
    found: list[bulk.Bulk] = stop_all.__self__.all()
    return found


def ended(site: Site) -> tuple[LogEntry, LogEntry]:
    """Return the entries of the begin and of the end, once the latter is there."""
    wait_until(lambda: any("ended" in e.what for e in site.pool.log()), message="its end is kept")
    found = [e for e in site.pool.log() if not e.what.startswith("stop")]
    return found[0], found[-1]


def outcome(entry: LogEntry) -> str:
    """Return what came of an act, without its time and its name."""
    said, known, name = entry.outcome.rpartition(" (act ")
    assert known, entry.outcome
    assert re.fullmatch(r"[0-9a-f]{12}\)", name)
    assert re.search(r" in [0-9.]+s", said), said
    return re.sub(r" in [0-9.]+s", "", said)


@pytest.mark.parametrize(("what", "past"), [("replay", "replayed"), ("discard", "discarded")])
def test_the_end_says_how_many_were_changed_of_what_by_whom_and_why(
    site: Site, operator: Browser, what: str, past: str
) -> None:
    dead(site, 5)

    operator.post("/bulk/begin", page="/errors", what=what, **DEAD)

    begin, end = ended(site)
    assert (begin.what, end.what) == (f"dead {what}", f"dead {what} ended")
    assert begin.subject == end.subject
    assert end.subject.startswith("state=dead")
    assert (end.who, end.via, end.why) == ("ada", "page", "fixed now")
    assert outcome(end) == f"5 of 5 {past}, complete"
    name = end.outcome.rpartition("(act ")[2].rstrip(")")
    assert begin.outcome == f"5 jobs are being {past} (act {name})."


def test_a_cancel_that_is_cut_short_by_ends_of_jobs_is_incomplete(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        enqueue(site, key="k0")
    monkeypatch.setattr(bulk, "count", lambda *_given: 4)  # one has ended meanwhile

    operator.post("/bulk/begin", page="/find", state="ready", key="k0", what="cancel")

    begin, end = ended(site)
    assert (begin.what, end.what) == ("job cancel", "job cancel ended")
    assert outcome(end) == "3 of 4 cancelled, incomplete: 1 unchanged"


def test_the_end_names_who_stopped_it(site: Site, operator: Browser) -> None:
    dead(site, 4)
    begun = operator.post("/bulk/begin", page="/errors", what="discard", rate="0.01", **DEAD)
    page = begun.headers["location"]
    wait_until(lambda: '<span id="k-changed">1</span>' in operator.get(page).text, message="one")

    operator.post(f"{page}/stop", page=page)

    _begin, end = ended(site)
    assert outcome(end) == "1 of 4 discarded, aborted by ada"
    (stop,) = [e for e in site.pool.log() if e.what == "stop discard"]  # kept before its answer
    assert f"({stop.subject})" in end.outcome


def test_an_action_that_has_ended_cannot_be_stopped(site: Site, operator: Browser) -> None:
    dead(site, 2)
    slow = operator.post("/bulk/begin", page="/errors", what="discard", rate="0.01", **DEAD)
    running = slow.headers["location"]
    [one] = _bulks(site)
    assert f'action="{running}/stop"' in operator.text(running)
    assert "k-acts@hidden" not in bulks._patch(one)

    one.stopping.set()
    wait_until(lambda: one.state != "running", message="it has ended")
    operator.post(f"{running}/stop", page=running)

    assert operator.note().startswith("it had already ended: 1 jobs were discarded in ")
    assert one.stopped_by == ""
    assert f'action="{running}/stop"' not in operator.text(running)
    assert bulks._patch(one)["k-acts@hidden"] == ""
    (stop,) = [e for e in site.pool.log() if e.what == "stop discard"]
    assert stop.outcome.startswith("failed: it had already ended")


def test_the_page_ends_what_runs_and_keeps_that(site: Site, operator: Browser) -> None:
    dead(site, 2)
    begun = operator.post("/bulk/begin", page="/errors", what="discard", rate="0.01", **DEAD)
    page = begun.headers["location"]
    wait_until(lambda: '<span id="k-changed">1</span>' in operator.get(page).text, message="one")

    for end in site.desk.at_end:
        end()

    assert outcome(site.pool.log()[-1]) == "1 of 2 discarded, aborted by the end of the page"


def test_an_act_that_fails_says_how_far_it_came(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(site, 2)
    real = bulk._changes

    def fail_later(pool: Any, one: bulk.Bulk) -> Iterator[int]:
        yield next(real(pool, one))
        raise UnavailableError("the server is away")

    monkeypatch.setattr(bulk, "_changes", fail_later)
    operator.post("/bulk/begin", page="/errors", what="discard", rate="1.9", **DEAD)

    _begin, end = ended(site)
    assert outcome(end) == "1 of 2 discarded, aborted: the server is away"


def test_the_end_stands_behind_the_begin_however_slow_that_is_to_write(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(site, 1)
    over, real = threading.Event(), bulk._run

    def run(pool: Any, one: bulk.Bulk) -> None:
        real(pool, one)
        over.set()

    monkeypatch.setattr(bulk, "_run", run)
    keep = site.desk._keep

    async def keep_late(entry: LogEntry) -> str:
        await site.desk.off_loop(lambda: over.wait(5))
        said: str = await keep(entry)
        return said

    monkeypatch.setattr(site.desk, "_keep", keep_late)
    operator.post("/bulk/begin", page="/errors", what="discard", **DEAD)

    begin, end = ended(site)
    assert (begin.what, end.what) == ("dead discard", "dead discard ended")


def test_an_act_is_done_though_its_end_cannot_be_kept(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    dead(site, 1)
    real = site.pool.carry_out

    def refuse_logs(steps: Any) -> Any:
        if steps.__name__ == "write":
            raise UnavailableError("the server is away")
        return real(steps)

    monkeypatch.setattr(site.pool, "carry_out", refuse_logs)
    begun = operator.post("/bulk/begin", page="/errors", what="discard", **DEAD)

    wait_until(lambda: "could not be written to the log" in caplog.text, message="it is said")
    assert ">done<" in operator.get(begun.headers["location"]).text
    assert site.pool.inspect.count("dead") == 0


def test_jobs_that_cannot_change_keep_none_behind_them_from_changing(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "_PAGE", 2)
    for n in range(5):
        enqueue(site, key="k0", fail=True, unique=f"u{n}")
    run_jobs(site.pool)
    for n in range(5):  # from now on others hold their unique keys
        enqueue(site, key="k0", unique=f"u{n}", delay_s=3600)
    dead(site, 3, "k0")

    begun = operator.post("/bulk/begin", page="/errors", what="replay", **DEAD)

    _begin, end = ended(site)
    assert outcome(end) == "3 of 8 replayed, incomplete: 5 unchanged"
    page = operator.text(begun.headers["location"])
    assert 'id="k-state">incomplete<' in page
    assert "5 were not, since they ended or other jobs hold their unique keys" in page
    assert '<span id="k-share">38%</span>' in page


def test_all_that_waits_in_a_lane_is_cancelled_though_jobs_move_up(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "_PAGE", 3)
    for _ in range(500):  # more than a look into a lane takes in
        enqueue(site, key="k0")

    operator.post("/bulk/begin", page="/find", state="ready", key="k0", what="cancel")

    _begin, end = ended(site)
    assert outcome(end) == "500 of 500 cancelled, complete"


def test_one_that_runs_is_kept_and_can_be_stopped_however_many_end_meanwhile(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "count", lambda *_given: 1)
    monkeypatch.setattr(bulk, "_live", _wait_if_long)
    bulks = bulk.Bulks()
    long = bulks.begin(site.pool, "replay", {"key": "long"}, None, "eve")

    for _ in range(60):
        short = bulks.begin(site.pool, "replay", {}, None, "eve")
        wait_until(lambda: short.state == "done", message="it ends")  # noqa: B023 - called here

    assert bulks.get(long.name) is long
    assert len(bulks.all()) == 50
    bulks.stop_all()
    assert long.state == "stopped"


def _wait_if_long(_pool: object, one: bulk.Bulk) -> None:
    one.state = "stopped" if one.given and one.stopping.wait(30) else "done"
