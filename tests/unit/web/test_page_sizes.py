"""Pages of a large queue, each line as long as it may be: none has 100 kB, and lists have parts."""

import time
from typing import Any

import pytest

from queuepool.client import log
from queuepool.client.after import After
from queuepool.models import Limit, Schedule
from queuepool.models.log import LogEntry, LogKind
from queuepool.partitions.partition import Partition
from queuepool.rpc.limits import definition_of
from queuepool.rpc.v1 import decision_pb2, limit_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.tasks.registry import Registry
from queuepool.testing import run_jobs
from queuepool.verbs import Verb
from queuepool.web.pages import find
from tests.unit.web.conftest import OPERATOR, Browser, MakeSite, Site
from tests.unit.web.coordinator import state

pytestmark = pytest.mark.thorough
PARTITIONS, LIMITS, MOST = 1_000, 1_300, 100_000  # of limits, the page reads 1,000
LONG = "a-word-and-" * 6  # 66 characters
registry = Registry()


@registry.task(max_attempts=1)
def a_task_whose_name_is_as_long_as_names_of_tasks_usually_are_at_most(n: int) -> None:
    raise ConnectionError(f"{'no route ' * (1 + n % 60)}{LONG * 5}")


TASK = "a_task_whose_name_is_as_long_as_names_of_tasks_usually_are_at_most"


class Crowd:
    """Calls that a coordinator of a large queue answers page by page."""

    def __init__(self, site: Site) -> None:
        self.limits = [
            limit_pb2.Limit(
                name=f"{LONG[:58]}{n:05}", set=definition_of(Limit("x", rate=20, concurrency=7)),
                wait_ms=5000, parked=LIMITS - n, running=123,
            )
            for n in range(LIMITS)
        ]  # fmt: skip
        self.decisions = [
            decision_pb2.Decision(
                id=f"1-{n}", at_ms=round(time.time() * 1000), partition=n, previous_target=8,
                target=16, policy="sized", reason=LONG * 5, clamps=["max_workers", "gain_check"],
            )
            for n in range(200)
        ]  # fmt: skip
        site.coordinator.ListLimits = self.list_limits  # type: ignore[attr-defined]
        site.coordinator.ListDecisions = self.list_decisions  # type: ignore[attr-defined]

    def list_limits(self, request: api.ListLimitsRequest) -> api.ListLimitsResponse:
        begin = int(request.page_token or 0)
        end = begin + min(request.page_size, 200)
        following = str(end) if end < len(self.limits) else ""
        return api.ListLimitsResponse(limits=self.limits[begin:end], next_page_token=following)

    def list_decisions(self, request: api.ListDecisionsRequest) -> api.ListDecisionsResponse:
        return api.ListDecisionsResponse(decisions=self.decisions[: request.page_size])


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    made = make_site(8)
    made.pool.producer.registry = registry
    return made


@pytest.fixture
def full(site: Site) -> Browser:
    """A browser on a page that has as much of everything as there may be."""
    Crowd(site)
    pool = site.pool
    key = f"{LONG[:58]}{{}}"
    for n in range(120):
        pool.schedules.set(Schedule(f"{LONG[:36]}{n}", TASK, {"n": n}, every="10m"))
        pool.enqueue_many(TASK, [{"n": n}], partition_key=key.format(n), then=After(TASK, {"n": n}))
    run_jobs(pool)
    for n in range(300):
        pool.enqueue(TASK, {"n": n}, partition_key=key.format(n), delay_s=60.0)
    entry = LogEntry(
        kind=LogKind.ACT, what="set scaling", subject=LONG * 2, who=LONG, via="page",
        why=LONG * 4, outcome=LONG * 4,
    )  # fmt: skip
    pool.carry_out(log.write([entry] * 400))
    states = [state(n, backlog=10**6 + n, oldest_waiting_ms=n * 1000) for n in range(PARTITIONS)]
    for one in states:
        one.owner.id = f"{LONG[:40]}{one.partition}:12345"
    site.coordinator.states = states
    now_s = time.time()
    for second in range(0, 300, 5):
        site.desk.board.take(states, site.coordinator.cluster, now_s - 300 + second)
    return site.browser(OPERATOR)


PATHS = (
    *("/", "/groups", "/find?state=dead", "/find?state=delayed", "/errors", "/scaling"),
    *("/limits", "/schedules", "/flows", "/log", "/system", "/partition/0"),
    f"/group?key={LONG[:58]}1",
)


def test_no_page_of_a_large_queue_has_100_kb(full: Browser) -> None:
    sizes = {path: len(full.get(path).content) for path in PATHS}

    assert {path: size for path, size in sizes.items() if size >= MOST} == {}
    assert min(sizes.values()) > 4_000


def test_limits_are_listed_in_parts_those_with_most_waiting_jobs_first(site: Site) -> None:
    Crowd(site)
    browser = site.browser(OPERATOR)

    first, last = browser.text("/limits"), browser.text("/limits?page=20")
    found = browser.text("/limits?name=00777")

    assert "1 to 50 of 1,000+" in first
    assert [f"{n:05}" in first for n in (0, 49, 50)] == [True, True, False]
    assert "951 to 1,000 of 1,000+" in last
    assert "queuepool limit list shows all of them" in last
    assert "00999" in last
    assert found.count('name="limit" value=') == 2  # its two forms
    assert "None has that in its name" in browser.text("/limits?name=<b>")


def test_jobs_are_found_in_parts_up_to_a_thousand(site: Site) -> None:
    site.pool.enqueue_many(TASK, [{"n": n} for n in range(1_020)], partition_key="k", delay_s=60)
    browser = site.browser(OPERATOR)
    path = "/find?state=delayed&task=" + TASK

    first, second, last = (browser.text(f"{path}&page={n}") for n in (1, 2, 20))
    few = browser.text(f"{path}&key=other")

    assert "1 to 50 of 51+" in first
    assert f'href="{path}&page=2">Next</a>' in first
    assert "51 to 100 of 101+" in second
    assert "951 to 1,000 of 1,000+" in last
    assert "narrow the search" in last
    assert "Next" not in last
    assert "No job matches" in few


def test_a_search_for_what_is_rare_ends_and_says_at_how_many_jobs_it_looked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "_LONGEST_S", 0.0)
    monkeypatch.setattr(find, "_LOOK", 200)
    site.pool.enqueue_many(TASK, [{"n": n} for n in range(1_020)], partition_key="k", delay_s=60)
    browser = site.browser(OPERATOR)

    rare = browser.text("/find?state=delayed&error=nothing-like-it")

    assert "jobs were looked at" in rare
    assert "0+ found" in rare
    assert "None of them matches" in rare
    monkeypatch.undo()
    assert "No job matches" in browser.text("/find?state=delayed&error=nothing-like-it")


def test_flows_of_many_partitions_are_asked_for_at_once(
    make_site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, alone = make_site(64), list[Verb[Any]]()
    really = Partition.run

    def run(self: Partition, verb: Verb[Any]) -> Any:
        alone.append(verb)
        return really(self, verb)

    monkeypatch.setattr(Partition, "run", run)

    assert "No batches" in site.browser(OPERATOR).text("/flows")
    assert len(alone) < 8


def test_the_log_is_shown_in_parts(site: Site) -> None:
    entries = [LogEntry(kind=LogKind.ACT, what="hold", subject=f"group {n}.") for n in range(130)]
    site.pool.carry_out(log.write(entries))
    browser = site.browser(OPERATOR)

    first, last = browser.text("/log?kind=act"), browser.text("/log?kind=act&page=3")

    assert "1 to 60 of 130" in first
    assert "group 129." in first
    assert "121 to 130 of 130" in last
    assert "group 0." in last
    assert 'href="/log?kind=act&page=2">Previous</a>' in last
