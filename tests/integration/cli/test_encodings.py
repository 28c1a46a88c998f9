"""Commands whose output goes to a stream that cannot hold every character."""

from __future__ import annotations

import io
import sys

import pytest

from queuepool import QueuePool, cli
from queuepool.cli.exits import Exit
from tests.integration.cli.jobs import bury

KEY = "naïve-\N{SNOWMAN}"
COMMANDS = {
    ("status",): "partition", ("group", "list"): "na\\xefve-\\u2603", ("errors",): "\\u2603",
    ("dead", "list"): "\\u2603", ("dead", "digest"): "\\u2603", ("job", "find"): "\\u2603",
    ("jobs", "running"): "no job", ("limit", "list"): "no limits",
    ("schedule", "list"): "no schedules", ("flow", "list"): "no batches",
    ("decisions",): "no decisions", ("doctor",): "no coordinator leads", ("moves",): "slot",
    ("audit",): "clean", ("group", "show", KEY): "na\\xefve-\\u2603",
}  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, encoding: str, *words: str) -> tuple[int, str]:
    """Run a command, its standard output in this encoding; return exit code and output."""
    kept = io.BytesIO()
    with monkeypatch.context() as patched, io.TextIOWrapper(kept, encoding) as stream:
        patched.setattr(sys, "stdout", stream)
        code = cli.main(words)
        return code, kept.getvalue().decode(encoding)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_what_ascii_cannot_hold_is_escaped(
    pool: QueuePool, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    bury(pool, KEY, 2, "no such user \N{SNOWMAN}")
    pool.enqueue("send", {}, partition_key=KEY)

    code, out = run(monkeypatch, "ascii", *words)

    assert code in {Exit.OK, Exit.FAILED, Exit.UNATTENDED}, out
    assert COMMANDS[words] in out
    assert "\\u2500" not in out, "a line of a table"


@pytest.mark.parametrize(("encoding", "line"), [("latin1", "---"), ("utf-8", "───")])
def test_lines_of_tables_are_drawn_as_the_encoding_can(
    pool: QueuePool, monkeypatch: pytest.MonkeyPatch, encoding: str, line: str
) -> None:
    bury(pool, KEY, 1)

    code, out = run(monkeypatch, encoding, "job", "find")

    assert code == Exit.OK
    assert line in out.splitlines()[1]
