"""One command runs several consumers, and keeps them running."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from consumer.settings import ConsumerSettings
from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.process.endings import CONFIGURATION, OK
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import ConsumerProcess, done, has_lifeline, owners
from tests.waiting import wait_until

PARTITIONS, PROCESSES = 4, 2
SEVERAL = {
    "partition": "auto",
    "partitions": PARTITIONS,
    "processes": PROCESSES,
    "workers": 2,
    "lease_s": 10,
}


def children(of: ConsumerProcess) -> list[int]:
    return [int(pid) for pid in re.findall(r"runs as process (\d+)", of.log)]


def lives(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def is_forked(pid: int) -> bool:
    return b"--forks" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def owned(partitions: Iterable[Partition]) -> set[int]:
    return {pid for partition in partitions for pid in owners(partition)}


def all_own(parent: ConsumerProcess, wide: QueuePool) -> list[int]:
    """Wait until the children have a partition each, and their parent has told of them."""
    found: list[int] = []

    def is_so() -> bool:
        places = [place for place in wide.partitions() if owners(place)]
        found[:] = [pid for place in places for pid in owners(place)]
        told = set(found) <= set(children(parent))  # it tells after it has started them
        return len(set(found)) == PROCESSES and told and all(map(has_lifeline, places))

    wait_until(is_so, message=parent.log)
    return found


def test_each_owns_a_partition_and_one_that_dies_starts_again(
    wide: QueuePool, consume: StartConsumer
) -> None:
    parent = consume(**SEVERAL)
    first = all_own(parent, wide)
    for number in range(40):
        wide.enqueue("work", {}, partition_key=f"key-{number}")

    os.kill(first[0], signal.SIGKILL)
    parent.says("was killed by SIGKILL; restarting in")
    wait_until(lambda: len(children(parent)) > PROCESSES)
    wait_until(lambda: sum(map(done, wide.partitions())) == 40)

    assert parent.stop() == OK
    assert not any(map(lives, children(parent)))
    assert all(partition.audit().clean for partition in wide.partitions())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux adopts children")
def test_the_first_are_forked_and_one_that_starts_again_is_a_program_of_its_own(
    wide: QueuePool, consume: StartConsumer
) -> None:
    parent = consume(**SEVERAL)
    first = all_own(parent, wide)
    assert all(map(is_forked, first))

    os.kill(first[0], signal.SIGKILL)
    wait_until(lambda: len(children(parent)) > PROCESSES, message=parent.log)
    wait_until(lambda: children(parent)[-1] in owned(wide.partitions()), message=parent.log)

    assert not is_forked(children(parent)[-1])
    assert parent.stop() == OK


def test_forked_consumers_run_jobs_in_child_processes(
    wide: QueuePool, consume: StartConsumer
) -> None:
    settings = {k: v for k, v in SEVERAL.items() if k != "workers"}
    parent = consume(**settings | {"pools": "default=process:1..2"})
    for number in range(20):
        wide.enqueue("work", {}, partition_key=f"key-{number}")

    wait_until(lambda: sum(map(done, wide.partitions())) == 20, message=parent.log)

    assert parent.stop() == OK
    assert not any(map(lives, children(parent)))


def test_none_outlives_the_process_that_started_it(wide: QueuePool, consume: StartConsumer) -> None:
    parent = consume(**SEVERAL)
    all_own(parent, wide)

    parent.kill()

    wait_until(lambda: not owned(wide.partitions()))
    wait_until(lambda: parent.log.count("released") >= PROCESSES)  # said after it is done


def test_a_mistake_is_told_once(consume: StartConsumer) -> None:
    parent = consume(**SEVERAL | {"app": "no_such_module_anywhere"})

    assert parent.ends() == CONFIGURATION
    assert parent.log.count("no_such_module_anywhere") == 1


def test_a_mistake_that_shows_only_when_it_runs_is_told_once(consume: StartConsumer) -> None:
    parent = consume(**SEVERAL | {"metrics_host": "192.0.2.1", "metrics_port": 0})

    assert parent.ends() == CONFIGURATION
    assert "restarting" not in parent.log


def test_a_handler_that_ends_its_process_like_a_mistake_ends_no_other(
    wide: QueuePool, consume: StartConsumer
) -> None:
    parent = consume(**SEVERAL | {"app": "tests.apps.dangerous"})
    all_own(parent, wide)

    wide.enqueue("harm.leave", {"status": CONFIGURATION}, partition_key="key")
    parent.says("exited with code 2 (by a handler); restarting in")

    assert len(all_own(parent, wide)) == PROCESSES
    assert parent.stop() == OK


def test_a_second_signal_ends_them_at_once(wide: QueuePool, consume: StartConsumer) -> None:
    parent = consume(**SEVERAL)
    wide.enqueue("work", {"ms": 60_000}, partition_key="long")
    partition = wide.group("long").partition
    wait_until(lambda: partition.observe().in_flight == 1, message=parent.log)

    parent.signal(signal.SIGTERM)
    parent.says("draining: 1 running")  # an idle one drains as well, when it roams
    parent.signal(signal.SIGTERM)

    assert parent.ends() == 128 + signal.SIGTERM
    assert not any(map(lives, children(parent)))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"partition": "3"}, "use auto"),
        ({"partition": "auto", "metrics_port": 65_535}, "the last one 65536"),
        ({"partition": "auto", "processes": 65}, "less than or equal to 64"),
    ],
)
def test_what_cannot_be_several_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ConsumerSettings(**{"processes": 2} | settings)
