"""`queuepool bulk --wait` says why nothing happens, in the words of `queuepool status`."""

from __future__ import annotations

import subprocess
import sys

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own
from tests.integration.cli.jobs import KEY, claim, own_partition, write
from tests.processes import running
from tests.shell import Shell
from tests.waiting import wait_until

WAITS = "3 jobs wait for a consumer with their task ('typo')"


def set_aside(pool: QueuePool, owned: OwnedPartition) -> None:
    """Do what a consumer does with three jobs whose task it does not know."""
    wait_until(lambda: pool.group(KEY).status().ready == 3, 60)
    ids = claim(owned, 3)
    error = b'{"reason":"unknown-task"}'
    owned.run(own.retry(owned.ownership, [(job_id, 30_000, "typo", error) for job_id in ids]))


def test_a_bulk_that_waits_without_progress_names_the_task_that_nobody_knows(
    shell: Shell, pool: QueuePool
) -> None:
    file = write("rows.csv", "a\n1\n2\n3\n")
    owned = own_partition(pool, pool.group(KEY).partition.number)
    words = ("bulk", file, "--task", "typo", "--key", KEY, "--wait")
    with running([sys.executable, "-m", "queuepool", *words], stderr=subprocess.PIPE) as process:
        set_aside(pool, owned)
        assert process.stderr is not None
        line = next((line for line in process.stderr if "wait for a consumer" in line), "")
        process.kill()

    assert WAITS in line


def test_a_bulk_whose_time_is_up_says_that_its_jobs_wait_and_prints_json(
    shell: Shell, pool: QueuePool
) -> None:
    file = write("rows.csv", "a\n1\n2\n3\n")
    words = ("bulk", file, "--task", "typo", "--key", KEY, "--json")
    assert shell.run(*words) == Exit.OK
    set_aside(pool, own_partition(pool, pool.group(KEY).partition.number))

    code = shell.run(*words, "--wait", "--timeout", "10ms")

    assert code == Exit.FAILED
    assert WAITS in shell.err
    assert "they wait, none runs" in shell.err
    (summary,) = shell.lines
    assert (summary["rows"], summary["duplicates"], summary["done"], summary["left"]) == (
        3,
        3,
        0,
        3,
    )
