"""Schedules are fired by real coordinators: each time once, through freezes, kills and restarts."""

from __future__ import annotations

import os
import signal

import pytest

from queuepool import Schedule
from queuepool.client.pool import QueuePool
from queuepool.models.schedules import Fired, id_of_time
from tests.integration.coordinator.cluster import BRIEF, look
from tests.integration.coordinator.conftest import StartProcess
from tests.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("coordinator-process")]
KEY = "tick"


def state(pool: QueuePool) -> Fired:
    status = pool.schedules.get(KEY)
    assert status is not None
    return status.state


def fires_more(pool: QueuePool, count: int) -> None:
    """Wait until so many more times have fired."""
    before = state(pool).fired
    wait_until(lambda: state(pool).fired >= before + count, 60)


def test_each_time_fires_once_through_a_frozen_leader_and_a_restart(
    pool: QueuePool, process: StartProcess
) -> None:
    first = process(watchdog_s=1.0, **BRIEF)
    wait_until(lambda: any("leading" in line for line in first.log))
    pool.schedules.set(Schedule(KEY, "t", every=1, missed="all"))
    status = pool.schedules.get(KEY)
    assert status is not None
    (first_ms,) = status.next(1)
    fires_more(pool, 1)

    second = process(**BRIEF)
    os.kill(first.popen.pid, signal.SIGSTOP)
    wait_until(lambda: look(pool).address == second.grpc)
    fires_more(pool, 2)
    os.kill(first.popen.pid, signal.SIGCONT)
    wait_until(lambda: any("lost leadership" in line for line in first.log))
    fires_more(pool, 1)
    for each in (first, second):
        each.kill()
    third = process()
    fires_more(pool, 2)
    pool.schedules.remove(KEY)
    third.stop()

    partition = pool.partition(pool.producer.route(KEY).partition)
    counters = partition.observe().counters
    enqueued = counters["enqueued"]
    times = [first_ms + 1000 * n for n in range(enqueued + 1)]
    found = [pool.status(id_of_time(KEY, at), partition_key=KEY).state.value for at in times]
    assert enqueued >= 6
    assert found == ["ready"] * enqueued + ["unknown"]
    assert counters.get("duplicate", 0) == 0
    assert first.popen.poll() is not None
    # Who led while it fired says so.
    assert all(
        any(f"schedule {KEY}: enqueued" in line for line in each.log)
        for each in (first, second, third)
    )
