"""A leader that is frozen past its lease and then continues (F3)."""

import os
import signal

import pytest

from queuepool.client.pool import QueuePool
from tests.integration.coordinator.cluster import BRIEF, FakeOwner, look, obey_until
from tests.integration.coordinator.conftest import StartProcess
from tests.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("coordinator-process")]


def test_a_frozen_leader_is_replaced_and_does_no_harm_when_it_wakes(
    pool: QueuePool, process: StartProcess
) -> None:
    owner = FakeOwner(pool.partition(0), workers=40)
    first = process(policy="static", workers=40, watchdog_s=1.0, **BRIEF)
    # The server knows it sooner: stopped before it heard of its lead, it would not tell of a loss.
    wait_until(lambda: any("leading" in line for line in first.log))
    wait_until(lambda: look(pool).address == first.grpc)
    os.kill(first.popen.pid, signal.SIGSTOP)
    second = process(policy="static", workers=48)
    wait_until(lambda: look(pool).address == second.grpc)
    obey_until(owner, lambda: owner.workers == 48)

    os.kill(first.popen.pid, signal.SIGCONT)
    wait_until(lambda: any("lost leadership" in line for line in first.log))
    for _ in range(20):
        owner.obey()

    assert owner.workers == 48
    assert first.popen.poll() is None
    assert look(pool).address == second.grpc
    epochs = {command.id.split("-")[0] for command in owner.scales()}
    assert epochs == {str(look(pool).epoch)}
