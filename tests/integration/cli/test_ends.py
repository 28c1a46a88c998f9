"""What commands say of jobs that ended without success, whether they are still stored or not."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.client.group import TaskGroup
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own
from tests.integration.cli.jobs import KEY, claim, own_partition, write
from tests.shell import Shell
from tests.waiting import wait_until

ERROR = b'{"reason":"failed","type":"ValueError","message":"boom"}'


def bury(owned: OwnedPartition, ids: list[bytes], *, keep_jobs: int) -> None:
    jobs = [(job_id, ERROR) for job_id in ids]
    owned.run(own.bury(owned.ownership, jobs, keep_jobs=keep_jobs, keep_bytes=10**6, keep_ms=10**8))


@contextmanager
def when_there_are(count: int, group: TaskGroup, do: Callable[[], None]) -> Iterator[None]:
    """Call `do` in a thread once that many jobs of the group are ready."""

    def work() -> None:
        wait_until(lambda: group.status().ready == count, 60)
        do()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()


def test_a_group_whose_dead_jobs_were_evicted_or_discarded_is_not_done(
    shell: Shell, pool: QueuePool
) -> None:
    pool.enqueue_many("send", [{}] * 9, partition_key=KEY)
    owned = own_partition(pool, pool.group(KEY).partition.number)
    ids = claim(owned, 9)
    bury(owned, ids[:8], keep_jobs=5)
    owned.run(own.finish(owned.ownership, {KEY.encode(): own.Acks(0, list(ids[8:]))}))
    pool.group(KEY).partition.discard([pool.group(KEY).partition.dead(0, 1)[0].job_id])

    assert shell.run("group", "show", KEY, "--json") == Exit.OK

    shown = shell.lines[0]
    assert {k: shown[k] for k in ("total", "done", "dead", "evicted", "discarded")} == {
        "total": 9, "done": 1, "dead": 4, "evicted": 3, "discarded": 1,
    }  # fmt: skip
    assert shell.run("group", "show", KEY) == Exit.OK
    assert "evicted" in shell.out
    assert shell.run("group", "wait", KEY, "--timeout", "60s") == Exit.DIED
    pool.group(KEY).partition.discard([job_id.decode() for job_id in ids])
    assert shell.run("group", "wait", KEY, "--timeout", "60s") == Exit.DIED


@pytest.mark.parametrize("keep_jobs", [0, 10])
def test_a_bulk_whose_jobs_died_fails_also_when_none_is_kept(
    shell: Shell, pool: QueuePool, keep_jobs: int, tmp_path: Path
) -> None:
    file = write("rows.csv", "a\n1\n2\n3\n")
    group = pool.group(KEY)

    def die() -> None:
        owned = own_partition(pool, group.partition.number)
        ids = claim(owned, 3)
        bury(owned, ids[:2], keep_jobs=keep_jobs)
        group.partition.discard([job_id.decode() for job_id in ids])
        owned.run(own.finish(owned.ownership, {KEY.encode(): own.Acks(0, list(ids[2:]))}))

    with when_there_are(3, group, die):
        code = shell.run("bulk", file, "--task", "t", "--key", KEY, "--wait", "--timeout", "60s")

    assert code == Exit.DIED
    assert f"1 done, 0 dead, 2 {'discarded' if keep_jobs else 'evicted'}" in shell.out
    assert "2 jobs died" in shell.err
    assert "None of them is still stored" in shell.err
