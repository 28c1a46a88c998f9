"""Limits through the gRPC API of a real process, and `queuepool limit` with and without it."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from queuepool import Limit
from queuepool.cli.exits import Exit
from queuepool.client.pool import QueuePool
from queuepool.rpc.client import QueuePoolClient
from queuepool.rpc.limits import definition_of, status_of
from queuepool.rpc.v1 import limit_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import Process
from tests.integration.coordinator.conftest import Command, StartCommand
from tests.shell import Shell
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")
MAIL = Limit("mail", rate=100, per_s=60, burst=5, concurrency=3)


def set_request(limit: Limit, reason: str = "") -> api.SetLimitRequest:
    return api.SetLimitRequest(limit=limit.name, definition=definition_of(limit), reason=reason)


def test_a_limit_is_set_paused_resumed_and_removed(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    changed = [client.SetLimit(set_request(MAIL)).changed for _ in range(2)]
    paused = [client.PauseLimit(api.PauseLimitRequest(limit="mail", paused=True)).changed]
    [listed] = client.ListLimits(api.ListLimitsRequest()).limits
    known = pool.limits.get("mail")
    resumed = client.PauseLimit(api.PauseLimitRequest(limit="mail")).changed
    removed = client.RemoveLimit(api.RemoveLimitRequest(limit="mail")).changed

    assert (changed, paused, resumed, removed) == ([True, False], [True], True, True)
    assert known is not None
    assert (known.set, known.paused) == (MAIL, True)
    assert status_of(listed) == known
    assert pool.limits.get("mail") is None


@pytest.mark.parametrize(
    "limit",
    [
        Limit("a", rate=7, burst=7),
        Limit("a", concurrency=2),
        Limit("a", rate="adaptive", least=2, most=90, burst=2),
    ],
)
def test_any_definition_arrives_as_it_was_sent(
    pool: QueuePool, client: QueuePoolClient, limit: Limit
) -> None:
    client.SetLimit(set_request(limit))

    known = pool.limits.get("a")

    assert known is not None
    assert known.set == limit
    [listed] = client.ListLimits(api.ListLimitsRequest(name="a")).limits
    assert status_of(listed) == known


def test_limits_are_listed_in_pages_and_by_name(pool: QueuePool, client: QueuePoolClient) -> None:
    for n in range(25):
        pool.limits.set(Limit(f"account:{n}", rate=1))
    names, token = list[str](), ""
    while True:
        page = client.ListLimits(api.ListLimitsRequest(page_size=4, page_token=token))
        names += [limit.name for limit in page.limits]
        token = page.next_page_token
        if not token:
            break

    assert names == [status.name for status in pool.limits.list()]
    assert len(names) == 25
    assert not client.ListLimits(api.ListLimitsRequest(name="other")).limits


def test_what_no_limit_can_be_is_refused_as_by_the_library(client: QueuePoolClient) -> None:
    none = limit_pb2.LimitDefinition
    calls: list[tuple[Any, Any, str, str]] = [
        (client.SetLimit, api.SetLimitRequest(limit="a"), "INVALID_ARGUMENT", "bounds nothing"),
        (
            client.SetLimit,
            api.SetLimitRequest(limit="a b", definition=none(rate=1)),
            "INVALID_ARGUMENT",
            "cannot be named",
        ),
        (
            client.SetLimit,
            api.SetLimitRequest(limit="a", definition=none(rate=1, per_s=float("nan"))),
            "INVALID_ARGUMENT",
            "per_s=nan",
        ),
        (client.PauseLimit, api.PauseLimitRequest(limit="a"), "NOT_FOUND", "'a' is unknown"),
        (client.RemoveLimit, api.RemoveLimitRequest(limit="a"), "NOT_FOUND", "'a' is unknown"),
        (client.RemoveLimit, api.RemoveLimitRequest(), "INVALID_ARGUMENT", "cannot be named"),
        (
            client.ListLimits,
            api.ListLimitsRequest(page_token="x"),
            "INVALID_ARGUMENT",
            "next_page_token",
        ),
    ]
    for call, request, code, words in calls:
        with pytest.raises(grpc.RpcError) as refused:
            call(request)
        assert refused.value.code().name == code
        assert words in (refused.value.details() or "")


def test_the_log_says_what_an_operator_did_and_why(
    running: Process, client: QueuePoolClient
) -> None:
    client.SetLimit(set_request(MAIL, "their\nlimit"))
    client.PauseLimit(api.PauseLimitRequest(limit="mail", paused=True, reason="down"))

    def logged(*parts: str) -> bool:
        return any(all(part in line for part in parts) for line in running.log)

    wait_until(lambda: logged("set limit mail", 'reason="their limit"', "100:60000000:5:3:0:0"))
    wait_until(lambda: logged("paused limit mail", "reason=down", "127.0.0.1"))
    wait_until(lambda: logged("PauseLimit by operator: OK", "limit=mail"))


# -- commands --------------------------------------------------------------------------------------


@pytest.fixture
def run(command: StartCommand) -> Command:
    return command("limit")


def test_commands_do_the_same_by_a_coordinator_and_without_one(run: Any, pool: QueuePool) -> None:
    assert run("list").startswith("no limits")
    assert run("set", "mail", "--rate", "100", "--per", "1m", "--concurrency", "3") == (
        "limit mail: set\n"
    )
    assert run("set", "mail", "--rate", "100", "--per", "1m", "--concurrency", "3") == (
        "limit mail: unchanged: it had these values already\n"
    )
    assert run("pause", "mail").startswith("limit mail: paused\n")
    assert run("pause", "mail").startswith("limit mail: it was already paused\n")
    shown = run("show", "mail")
    assert "100 per 1m, burst 1, 3 at once" in shown
    assert "queuepool limit resume mail" in shown
    listed = run("list")
    assert "people" in listed
    assert "paused" in listed
    assert run("resume", "mail") == "limit mail: resumed\n"
    run("set", "api", "--rate", "adaptive", "--least", "2", "--most", "90")
    assert "2..90/s" in run("show", "api")
    assert run("remove", "mail", "--json") == [{"name": "mail", "changed": True}]
    assert [status.name for status in pool.limits.list()] == ["api"]


def test_a_limit_is_paused_before_its_first_use_which_is_told(run: Any, pool: QueuePool) -> None:
    unused = "nothing has used this limit yet"
    paused = [run("pause", "mial") for _ in range(2)]

    assert paused[0].startswith("limit mial: paused\n")
    assert paused[1].startswith("limit mial: it was already paused\n")
    assert all(unused in said for said in paused)
    assert run("pause", "mial", "--json") == [{"name": "mial", "changed": False}]
    assert "paused, unused" in run("list")
    assert unused in run("show", "mial")
    assert run("resume", "mial") == "limit mial: resumed\n"
    assert list(pool.limits.list()) == []


def test_json_has_everything(run: Any, pool: QueuePool) -> None:
    pool.limits.set(MAIL)

    [line] = run("list", "--json")

    assert (line["name"], line["declared"], line["running"]) == ("mail", None, 0)
    assert (line["set"]["rate"], line["set"]["per_s"], line["set"]["burst"]) == (100, 60.0, 5)
    assert run("show", "mail", "--json") == [line]


def test_a_list_ends_where_it_was_asked_to(run: Any, pool: QueuePool) -> None:
    for n in range(6):
        pool.limits.set(Limit(f"account:{n}", rate=1))

    assert len(run("list", "--limit", "4", "--json")) == 4
    assert "--limit 16 shows more" in run("list", "--limit", "4")
    assert "more" not in run("list", "--limit", "6")


def test_a_list_begins_with_the_limits_for_which_most_jobs_wait(run: Any, pool: QueuePool) -> None:
    for n in range(6):
        pool.limits.set(Limit(f"account:{n}", rate=1))
    for limit, jobs in (("account:4", 3), ("account:5", 7)):
        pool.enqueue_many("t", [{}] * jobs, partition_key="k", limit=limit)

    names = [line["name"] for line in run("list", "--limit", "3", "--json")]

    assert names == ["account:5", "account:4", "account:0"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "mail"), "bounds nothing"),
        (("set", "mail", "--rate", "9000000"), "rate=9000000"),
        (("set", "mail", "--per", "1m"), "--per belongs to --rate"),
        (("set", "mail", "--rate", "adaptive"), "least and most"),
        (("set", "no name", "--rate", "1"), "cannot be named"),
        (("show", "mail"), "limit 'mail' is unknown"),
        (("resume", "mail"), "limit 'mail' is unknown"),
        (("remove", "mail"), "limit 'mail' is unknown"),
        (("resume", "no name"), "cannot be named"),
    ],
)
def test_wrong_usage_is_told(run: Any, words: tuple[str, ...], said: str) -> None:
    assert said in run(*words, code=Exit.USAGE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "mail", "--rate", "0"), "queuepool limit pause"),
        (("set", "mail", "--rate", "fast"), "not a whole number"),
        (("set", "mail", "--rate", "40/m"), "--rate 40 --per 1m"),
        (("set", "mail", "--concurrency", "-1"), "must not be negative"),
        (("show",), "NAME"),
    ],
)
def test_arguments_that_cannot_be_read_are_told(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        Shell(capsys).run("limit", *words)

    assert ended.value.code == Exit.USAGE
    assert said in capsys.readouterr().err
