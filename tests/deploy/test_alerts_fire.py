"""The alerts fire in a real Prometheus when parts of a real cluster are in trouble.

How long a condition has to hold, and from when on a wait is long, is cut to seconds here;
test_alerts.py proves the values of the file itself.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from queuepool import Limit
from queuepool.routing.slots import partition_of, slot_of
from tests.chaos.rig import Rig
from tests.deploy.monitor import ALERTS, Prometheus, needs_prometheus, prometheus
from tests.integration.consumer.processes import ConsumerProcess
from tests.waiting import wait_until

SOON = re.sub(r"\bfor: \w+", "for: 2s", ALERTS.read_text()).replace("> 300", "> 5")
# Thousands of partitions, and a move of a quarter of an hour, are more than a test has.
ELSEWHERE = {"QueuepoolPartitionsWithoutOwner", "QueuepoolMoveStandsStill"}
NAMES = {rule["alert"] for rule in yaml.safe_load(SOON)["groups"][0]["rules"]} - ELSEWHERE


_BALLAST = 50_000_000  # bytes


class Trouble:
    """Two partitions with an owner each, a standby, a coordinator, and what befalls them."""

    def __init__(self, rig: Rig) -> None:
        self.rig, pool = rig, rig.pool
        self.keys = [
            next(f"k{n}" for n in range(99) if partition_of(slot_of(b"k%d" % n), 2) == number)
            for number in range(2)
        ]
        known: dict[str, Any] = {"app": "tests.apps.recorded", "dead_keep_jobs": 3}
        self.owners = [rig.consumer(partition=n, **known) for n in range(2)]
        for place, owner in zip(pool.partitions(), self.owners, strict=True):
            owner.owns(place)
        self.standby = rig.consumer(partition=1, **known)
        self.standby.says("standing by")
        self.coordinator = rig.coordinator(lease_s=60.0, request_timeout_s=20.0)

    def all(self) -> list[tuple[Callable[[], None], set[str]]]:
        """Return what befalls them in turn, and the alerts that fire for it."""
        return [
            (self.nothing, set()),
            (lambda: self.enqueue("fail", 10), {"QueuepoolJobsDie", "QueuepoolDeadJobsEvicted"}),
            (lambda: self.enqueue("nobody", 1), {"QueuepoolUnknownTasks"}),
            (self.throttle, {"QueuepoolThrottled"}),
            (lambda: self.fill(0.88), {"QueuepoolServerMemoryNearLimit"}),
            (lambda: self.fill(0.97), {"QueuepoolServerMemoryExhausted"}),
            (
                self.kill_an_owner,
                {
                    "QueuepoolPartitionWithoutOwner",
                    "QueuepoolConsumerGone",
                    "QueuepoolJobsWaitLong",
                },
            ),
            (self.fence, {"QueuepoolOwnerFenced"}),
            (self.coordinator.kill, {"QueuepoolNoLeader", "QueuepoolCoordinatorGone"}),
        ]

    def nothing(self) -> None:
        """Let the jobs run of both partitions."""
        for partition in range(2):
            self.enqueue("work", 100, partition)
        self.rig.drained(200)

    def targets(self) -> dict[str, list[str]]:
        return {
            "consumer": [_address(one) for one in (*self.owners, self.standby)],
            "coordinator": [self.coordinator.metrics.removeprefix("http://").split("/")[0]],
        }

    def enqueue(self, task: str, jobs: int, partition: int = 1, **options: Any) -> None:
        payload = {"fail": {}, "work": {"ms": 0}}.get(task, {})
        self.rig.pool.enqueue_many(
            task, [payload] * jobs, partition_key=self.keys[partition], **options
        )

    def throttle(self) -> None:
        self.rig.pool.limits.set(Limit("slow", rate=1))
        self.rig.pool.limits.pause("slow")
        self.enqueue("work", 5, limit="slow")

    def fill(self, share: float) -> None:
        """Let the server use this share of the memory that it may."""
        with redis.Redis.from_url(self.rig.server.url) as client:
            # Beside this, it does not matter what the buffers of connections add now and then.
            client.setrange("ballast", _BALLAST, b"x")
            client.config_set("maxmemory", int(client.info("memory")["used_memory"] / share))

    def fence(self) -> None:
        """Stop an owner until the standby has replaced it."""
        owner = self.owners[1]
        owner.signal(signal.SIGSTOP)
        self.standby.owns(self.rig.pool.partition(1))
        owner.signal(signal.SIGCONT)

    def kill_an_owner(self) -> None:
        """Kill one without a standby, and give its partition something to do."""
        self.fill(0.01)
        self.owners[0].kill()
        self.enqueue("work", 5, 0)


def _address(consumer: ConsumerProcess) -> str:
    wait_until(lambda: "http://" in consumer.log, 60, "a port for metrics")
    return str(re.findall(r"http://(127\.0\.0\.1:\d+)", consumer.log)[-1])


def _is_healthy(monitor: Prometheus) -> bool:
    owners = monitor.value_of("queuepool_owner == 1")
    leads = monitor.value_of("queuepool_coordinator_leader == 1")
    return len(owners) == 2 and bool(leads) and not monitor.firing()


@pytest.mark.e2e
@pytest.mark.server
@pytest.mark.timeout(300)
@needs_prometheus
def test_every_alert_fires_for_its_trouble_and_for_no_other(tmp_path: Path) -> None:
    with Rig(tmp_path / "rig", partitions=2) as rig:
        trouble, expected = Trouble(rig), set[str]()
        with prometheus(tmp_path, trouble.targets(), SOON) as monitor:
            wait_until(lambda: _is_healthy(monitor), 60, "two owners, a leader, and no alert")
            for befall, alerts in trouble.all():
                befall()
                expected |= alerts
                wait_until(lambda: alerts <= monitor.firing(), 60, f"{alerts}", interval_s=0.2)  # noqa: B023
                assert monitor.firing() <= expected
    assert expected == NAMES
