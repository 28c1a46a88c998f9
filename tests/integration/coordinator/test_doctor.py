"""One verdict by the coordinator's API, by the command with and without it, and by the library."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from queuepool import AsyncQueuePool
from queuepool.cli.exits import Exit
from queuepool.client import checkup
from queuepool.client.pool import QueuePool
from queuepool.models.doctor import Verdict
from queuepool.rpc.client import QueuePoolClient
from queuepool.rpc.doctor import verdict_of
from queuepool.rpc.v1 import queue_pool_pb2 as api
from tests.integration.coordinator.cluster import Process
from tests.integration.coordinator.conftest import StartCommand
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")
NO_HISTORY = {"flapping", "gain-check", "deaths-rising", "hot-partition"}


def kinds(verdict: Verdict) -> set[str]:
    return {one.kind for one in verdict.findings}


def test_the_verdict_of_a_coordinator(pool: QueuePool, client: QueuePoolClient) -> None:
    def verdict() -> Verdict:
        return verdict_of(client.Doctor(api.DoctorRequest()).verdict)

    found = verdict()

    assert not found.unjudged
    assert "persistence" in kinds(found)  # the server of these tests keeps nothing
    [one] = [one for one in found.findings if one.kind == "persistence"]
    assert one.since_ms is not None
    assert "appendonly" in one.remedy
    assert not kinds(found) & {"no-leader", "no-owner", "server-away", "memory", "clock-skew"}


def test_the_library_judges_a_single_look(pool: QueuePool) -> None:
    async def awaited() -> Verdict:
        async with AsyncQueuePool(config=pool.config) as same:
            return await same.doctor()

    for found in (pool.doctor(), asyncio.run(awaited())):
        assert kinds(found) == {"persistence", "no-leader"}
        assert {one.kind for one in found.unjudged} == NO_HISTORY


def test_a_look_that_takes_long_takes_no_clock_for_one_that_is_off(
    pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments_s = iter((time.time() - 30, time.time() + 30))  # before and after it, as when one waits
    monkeypatch.setattr(checkup, "time", SimpleNamespace(time=lambda: next(moments_s)))

    assert "clock-skew" not in kinds(pool.doctor())


def test_a_server_that_is_away_is_a_finding(stage: str) -> None:
    with QueuePool("redis://127.0.0.1:1/0", partitions=2) as nowhere:
        found = nowhere.doctor()

    assert kinds(found) == {"server-away"}
    assert found.findings[0].what.endswith("refused.")  # no advice to a caller, as nobody called
    assert {one.kind for one in found.unjudged} > NO_HISTORY


def test_the_command_says_what_is_wrong(command: StartCommand) -> None:
    text = command("doctor")(code=Exit.FAILED)

    assert "server main: persistence" in text
    assert "run: CONFIG SET appendonly yes" in text
    assert "no problems found" not in text


def test_the_log_tells_what_was_found(running: Process) -> None:
    wait_until(lambda: any("append-only" in line for line in running.log), timeout_s=20)
