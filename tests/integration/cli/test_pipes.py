"""Commands whose output nobody reads any more: they end as `--help` says, and say nothing of it."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.client.progress_bar import progress_bar

COMMANDS = [
    ("status",), ("status", "--json"), ("group", "list"), ("group", "show", "k"), ("errors",),
    ("dead", "list"), ("dead", "digest"), ("job", "find"), ("job", "find", "--json"),
    ("jobs", "running"), ("limit", "list"), ("schedule", "list"), ("log", "--since", "1h"),
    ("doctor",), ("audit",), ("check",), ("flow", "list"), ("policy", "show"),
    ("decisions",), ("moves",), ("acl",), ("protocol", "show"),
]  # fmt: skip


def run_unread(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a standard output that was closed at the other end."""
    read, write = os.pipe()
    os.close(read)
    try:
        return subprocess.run(
            [sys.executable, "-m", "queuepool", *words],
            stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(write)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_closed_pipe_is_told_by_the_exit_code_alone(
    pool: QueuePool, words: tuple[str, ...]
) -> None:
    pool.enqueue("work", {}, partition_key="k")

    ended = run_unread(*words)

    assert (ended.returncode, ended.stderr) == (Exit.BROKEN_PIPE, "")


class Unread(io.StringIO):
    """A stream at whose other end nobody is. tried: how often something was written."""

    tried = 0

    def write(self, text: str) -> int:
        self.tried += 1
        raise BrokenPipeError


def test_a_progress_bar_that_nobody_sees_lets_the_work_go_on(
    pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.enqueue("work", {}, partition_key="k")
    status, unread = pool.group("k").status(), Unread()

    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", unread)
        with progress_bar(True, "k") as draw:
            draw(status)

    assert unread.tried
