"""On a real terminal: live tables and progress bars, whose own escapes are all that goes there."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import redis

from queuepool import PoolConfig, QueuePool
from queuepool.client.progress_bar import progress_bar
from queuepool.models import GroupStatus
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from tests.integration.cli.test_terminal import on_a_terminal
from tests.security.planted import NASTY, controls

_MARKUP = "[/x] [red]red[/red] [link=http://x]y[/link] \\[a]"
HOST = f"host {NASTY} {_MARKUP}"


@pytest.fixture
def environment(redis_url: str, stage: str) -> dict[str, str]:
    config = PoolConfig(topology=single(redis_url, 2), keyspace=Keyspace(stage=stage))
    base = config.keyspace.partition(0)
    numbers = dict.fromkeys(("heartbeat", "workers", "busy", "target"), "1")
    owner = {"nonce": "n", "epoch": "5", "expires": "99999999999999", "host": HOST}
    with redis.Redis.from_url(redis_url) as client:
        client.hset(base + b":o", mapping=owner | numbers)
        client.hset(base + b":ua", mapping={"a": HOST})
    return {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "2"}


@pytest.mark.parametrize("columns", [60, 400])
def test_a_live_table_lets_nothing_of_a_host_or_a_task_through(
    environment: dict[str, str], columns: int
) -> None:
    words = ["watch", "--interval", "100ms", "--for", "300ms"]

    seen = on_a_terminal(words, environment, columns)

    assert not controls(seen, allowed=("\n", "\r"))
    assert "]0;title" not in seen.replace(r"\x1b]0;title", "")
    assert not re.search(r"^forged line", seen, re.MULTILINE)
    if columns == 400:
        assert "[red]red[/red]" in seen  # text, not a colour


def test_a_table_is_as_wide_as_it_is_seen(environment: dict[str, str]) -> None:
    seen = on_a_terminal(["watch", "--interval", "100ms", "--for", "200ms"], environment, 400)

    rows = [line for line in seen.replace("\r", "\n").split("\n") if line.startswith(("0 ", "1 "))]
    ends = {len(line.rstrip()) for line in rows}

    assert len(ends) == 1, seen


@pytest.mark.parametrize("title", [NASTY, _MARKUP, "[/]", "a" * 5000])
def test_a_progress_bar_draws_any_partition_key(
    title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = GroupStatus(total=2, ready=1, delayed=0, in_flight=0, done=1, dead=0, cancelled=0)
    draw: Callable[[GroupStatus], None]
    with progress_bar(True, title) as draw:
        draw(status)

    assert not controls(capsys.readouterr().err)


def test_waiting_for_a_group_draws_its_key_whatever_it_is(
    environment: dict[str, str], redis_url: str, stage: str
) -> None:
    key = "[/x] \x1b[31mred"
    config = PoolConfig(topology=single(redis_url, 2), keyspace=Keyspace(stage=stage))
    with QueuePool(config=config) as pool:
        job = pool.enqueue("t", {}, partition_key=key)
        pool.cancel(job.job_id)

    seen = on_a_terminal(["group", "wait", key], environment, 80)

    assert not controls(seen, allowed=("\n", "\r"))
    assert r"\x1b[31mred" in seen
