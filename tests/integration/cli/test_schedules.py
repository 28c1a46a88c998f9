"""`queuepool schedule` against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.loop.leadership import Leadership
from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.tasks.registry import default_registry
from tests.shell import Shell

SET = ("schedule", "set", "nightly", "report", "--payload", '{"kind": "daily"}')
EVERY = ("schedule", "set", "s", "t", "--every", "1d")
CRON = ("--cron", "30 3 * * MON-FRI", "--timezone", "Europe/Berlin")


def test_a_schedule_is_set_listed_and_shown(shell: Shell, pool: QueuePool) -> None:
    assert shell.run(*SET, *CRON, "--missed", "all", "--tier", "high", "--limit", "mail") == Exit.OK
    assert shell.out == "schedule nightly: set\n"
    shell.run(*SET, *CRON, "--missed", "all", "--tier", "high", "--limit", "mail")
    assert shell.out == "schedule nightly: unchanged: it had these values already\n"
    shell.run("schedule", "set", "sweep", "sweep", "--every", "10m", "--overlap", "skip")

    (first, second) = pool.schedules.list()
    assert first.schedule is not None
    assert first.schedule.payload == {"kind": "daily"}
    assert (first.schedule.tier, first.schedule.limit) == ("high", ("mail",))
    assert second.schedule is not None
    assert (second.schedule.every, second.schedule.overlap) == (600, "skip")
    assert shell.run("schedule", "list") == Exit.OK
    assert "30 3 * * MON-FRI Europe/Berlin" in shell.out
    assert "every 10m" in shell.out
    assert shell.run("schedule", "show", "nightly") == Exit.OK
    for text in ("report", "daily", "all, at most 100, after 1m", "5. next", "mail"):
        assert text in shell.out
    (shown,) = shell.json("schedule", "show", "sweep")
    times = shown["next_ms"]
    assert [at % 600_000 for at in times] == [0] * 5


def test_it_says_when_no_coordinator_fires_them(shell: Shell, pool: QueuePool) -> None:
    asked = [(*SET, *CRON), ("schedule", "list"), ("schedule", "show", "nightly")]

    for words in asked:
        assert shell.run(*words) == Exit.OK
        assert "no coordinator leads, so schedules do not fire" in shell.err

    server, key = pool.system
    leadership = Leadership(server, key, lease_s=60)
    assert leadership.renew().leading
    for words in asked:
        assert shell.run(*words) == Exit.OK
        assert shell.err == ""


def test_it_is_paused_resumed_run_and_removed(shell: Shell, pool: QueuePool) -> None:
    shell.run(*SET, *CRON)

    said = []
    for action in ("pause", "pause", "resume", "resume", "remove"):
        assert shell.run("schedule", action, "nightly") == Exit.OK
        said.append(shell.out.removeprefix("schedule nightly: ").strip())
        if action == "pause":
            shell.run("schedule", "show", "nightly")
            assert "queuepool schedule resume nightly" in shell.out
            (ran,) = shell.json("schedule", "run", "nightly")
            assert pool.status(ran["job_id"], partition_key="nightly").task == "report"

    assert said == [
        "paused", "it was already paused", "resumed", "it was not paused", "removed",
    ]  # fmt: skip


def test_what_is_wrong_is_said_in_a_line(shell: Shell) -> None:
    for words, message in (
        ((*SET, "--cron", "often"), "write five fields"),
        ((*SET, "--cron", "@daily", "--timezone", "Mars"), "there is no time zone 'Mars'"),
        (("schedule", "set", "s", "t", "--every", "1s", "--payload", "{"), "--payload is not JSON"),
        (("schedule", "set", "s", "t", "--every", "10ms"), "use 1 s to 366 days"),
        ((*EVERY, "--timezone", "Mars/X"), "--timezone is only for --cron"),
        ((*EVERY, "--timezone", "UTC"), "--timezone is only for --cron"),
        (("schedule", "set", "a b", "t", "--every", "1s"), "cannot be named 'a b'"),
        (("schedule", "pause", "none"), "there is no schedule 'none'"),
        (("schedule", "remove", "none"), "there is no schedule 'none'"),
        (("schedule", "remove", "none", "--json"), "there is no schedule 'none'"),
        (("schedule", "show", "none"), "there is no schedule 'none'"),
    ):
        assert shell.run(*words) == Exit.USAGE, words
        assert message in shell.err, shell.err
    with pytest.raises(SystemExit):
        shell.run("schedule", "set", "s", "t")
    assert shell.run("schedule", "list", "--json") == Exit.OK
    assert shell.out == ""


def test_what_tasks_declare_is_set_by_a_command(
    shell: Shell, pool: QueuePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"declares_{abs(hash(tmp_path))}"
    source = f"""\
from queuepool import task

@task(name="{module}", cron="0 4 * * *", timezone="Asia/Seoul")
def tidy() -> None: ...
"""
    (tmp_path / f"{module}.py").write_text(source)
    (tmp_path / "declares_nothing.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert shell.run("schedule", "declare", "--app", module) == Exit.OK
        assert shell.out == f"schedule {module}: set\n"
        assert shell.json("schedule", "declare", "--app", module) == [
            {"name": module, "changed": False}
        ]
    finally:
        default_registry._tasks.pop(module, None)
    shell.run("schedule", "declare", "--app", "declares_nothing")
    assert "no task of declares_nothing has a cron or every" in shell.err

    (only,) = pool.schedules.list()
    assert only.schedule is not None
    assert (only.schedule.cron, only.schedule.timezone) == ("0 4 * * *", "Asia/Seoul")
