"""Ctrl-C during `queuepool bulk`: how many rows are in, and how to continue."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from typing import Any

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.cli.rows import enqueueing
from tests.integration.cli.jobs import KEY, write
from tests.processes import running
from tests.shell import Shell
from tests.striking import struck_at
from tests.waiting import wait_until


def test_ctrl_c_amid_the_rows_tells_how_to_go_on(shell: Shell, pool: QueuePool) -> None:
    group = pool.group(KEY)
    words = ("bulk", "-", "--format", "jsonl", "--task", "t", "--key", KEY)
    with running(
        [sys.executable, "-m", "queuepool", *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write('{"n": 1}\n' * 12_000)
        process.stdin.flush()
        wait_until(lambda: group.status().total == 10_000, 60.0, "two batches that are in")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)

    assert process.returncode == Exit.INTERRUPTED
    assert "Traceback" not in told
    # It may strike just before the last answers are read, or counted: then they count as perhaps.
    counts = re.search(
        r"the first ([0-9,]+) rows are enqueued(?:, and possibly (?:some of )?the next (\S+);)?",
        told,
    )
    assert counts is not None, told
    sure, perhaps = (int((count or "0").replace(",", "")) for count in counts.groups())
    assert "interrupted: " in told
    assert f"--skip {sure}" in told
    assert sure <= group.status().total == 10_000 == sure + perhaps


def test_ctrl_c_at_any_step_says_what_is_in_if_anything_is(shell: Shell, pool: QueuePool) -> None:
    file = write("rows.csv", "a\n" + "1\n" * 3)

    def struck(step: int) -> bool:
        """Strike at a step; return whether it was reached with nothing enqueued yet."""
        key = f"{KEY}-{step}"
        reached, code = struck_at(
            step,
            partial(shell.run, "bulk", file, "--task", "t", "--key", key),
            files=("cli/commands/bulk.py", "cli/rows/enqueueing.py"),
            error=KeyboardInterrupt,
        )
        total = pool.group(key).status().total
        assert code == (Exit.INTERRUPTED if reached else Exit.OK)
        assert "Traceback" not in shell.err
        assert "rows are enqueued" in shell.err or not (reached and total), step
        assert "first 3 rows are enqueued, and possibly" not in shell.err, step
        steps[step] = reached
        return reached and not total

    steps: dict[int, bool] = {}
    first = bisect_left(range(4_096), True, key=lambda step: not struck(step))
    for step in count(first):
        struck(step)
        if not steps[step]:
            break

    assert step - first > 100


def test_ctrl_c_amid_a_call_counts_what_is_in(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def struck(batch: Iterator[Any], _advance: object) -> Iterator[Any]:
        yield from islice(batch, 450)
        raise KeyboardInterrupt

    monkeypatch.setattr(enqueueing, "_counted", struck)
    file = write("rows.csv", "a\n" + "1\n" * 1500)

    assert shell.run("bulk", file, "--task", "t", "--key", KEY) == Exit.INTERRUPTED

    assert "interrupted: exactly the first 400 rows are enqueued" in shell.err
    assert "--skip 400" in shell.err
    assert pool.group(KEY).status().total == 400
    monkeypatch.undo()


def test_ctrl_c_while_it_waits_says_that_the_jobs_go_on(shell: Shell, pool: QueuePool) -> None:
    file = write("rows.csv", "a\n" + "1\n" * 3)
    words = ("bulk", file, "--task", "t", "--key", KEY, "--wait")
    with running([sys.executable, "-m", "queuepool", *words], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "no consumer" in line:
                break
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        process.wait(timeout=30)

    assert process.returncode == Exit.INTERRUPTED
    assert "all 3 rows are enqueued" in told
    assert f"queuepool group show {KEY}" in told
    assert pool.group(KEY).status().total == 3
