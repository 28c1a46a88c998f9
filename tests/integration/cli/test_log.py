"""`queuepool log`, and what commands keep in it when they act without a coordinator."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import redis

from queuepool import QueuePool
from queuepool.cli.commands import dead
from queuepool.cli.exits import Exit
from queuepool.client.group import TaskGroup
from queuepool.errors import UnavailableError
from queuepool.models.log import LogEntry, LogKind
from queuepool.partitions.partition import Partition
from queuepool.verbs.log.verbs import write_log
from tests.integration.cli.jobs import bury
from tests.shell import Shell

SECRET = "swordfish"


def told(pool: QueuePool, *, begins: bool = False) -> list[tuple[str, str, str]]:
    """Return what is kept, without how long it took, and which act it was."""
    aside = re.compile(r" in \d+\.\ds| \(act [0-9a-f]{12}\)")
    found = [(one.what, one.subject, aside.sub("", one.outcome)) for one in pool.log()]
    return found if begins else [one for one in found if one[2] != "begins"]


def test_what_a_command_does_is_kept_with_who_and_why(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    pool.enqueue("send", {"n": 1}, partition_key="album 7")

    shell.run("hold", "group", "album 7", "--reason", "they\nasked \x1b[1m")

    (entry,) = pool.log()
    assert (entry.kind, entry.what, entry.subject) == (LogKind.ACT, "hold", "group album 7")
    assert (entry.via, entry.why, entry.outcome) == ("command", "they asked \\x1b[1m", "1 changed")
    user, at, host = entry.who.partition("@")
    assert at
    assert user
    assert host
    assert shell.run("log") == Exit.OK
    line = f"act      hold group album 7, by {entry.who} (command): 1 changed; why: they asked "
    assert shell.out.endswith(line + "\\x1b[1m\n")
    (found,) = shell.json("log", "--kind", "act", "--since", "1h")
    assert (found["who"], found["kind"], found["at_ms"]) == (entry.who, "act", entry.at_ms)
    assert shell.json("log", "--kind", "scaling") == []


def test_every_act_says_on_what_and_what_came_of_it(shell: Shell, pool: QueuePool) -> None:
    pool.enqueue("send", {"n": 1}, partition_key="k", delay_s=60, job_id="later")
    died = bury(pool, "dead", 2)

    for words in (
        ("job", "edit", "later", "--payload", json.dumps({"n": SECRET})),
        ("job", "run", "later"),
        ("job", "cancel", "later"),
        ("group", "configure", "k", "--max-running", "3", "--create"),
        ("group", "cancel", "k"),
        ("tenant", "hold", "acme"),
        ("limit", "set", "mail", "--rate", "20", "--per", "1m"),
        ("limit", "remove", "mail"),
        ("policy", "set", "mode=hold", "max_workers=9"),
        ("shadow", "--stop"),
        ("scale", "3", "24", "--for", "10m"),
        ("schedule", "set", "nightly", "send", "--every", "1h", "--payload", f'{{"x":"{SECRET}"}}'),
        ("schedule", "pause", "nightly"),
        ("dead", "replay", died[0]),
        ("dead", "discard", "--task", "send", "--yes"),
        ("audit", "--repair"),
        ("release", "all"),
    ):
        assert shell.run(*words) in (Exit.OK, Exit.FAILED), shell.err

    assert told(pool) == [
        ("job edit", "job later", "it was delayed"),
        ("job run", "job later", "it was delayed"),
        ("job cancel", "job later", "it was delayed"),
        ("group configure", "group k --max-running 3 --create", "done"),
        ("group cancel ended", "group k", "0 cancelled; 0 running ones were asked to stop"),
        ("tenant hold", "tenant acme", "done"),
        ("limit set", "limit mail --rate 20 --per 1m", "set"),
        ("limit remove", "limit mail", "removed"),
        ("policy set", "mode=hold max_workers=9", "done"),
        ("shadow", "--for 1h --stop", "done"),
        ("scale", "partition 3 24 --for 10m", "done"),
        ("schedule set", "schedule nightly send --every 1h", "set"),
        ("schedule pause", "schedule nightly", "paused"),
        ("dead replay ended", died[0], "1 replayed"),
        ("dead discard ended", "--task send", "1 discarded"),
        ("audit ended", "--repair", "done"),
        ("release", "all", "nothing changed"),
    ]
    assert SECRET not in str(pool.log())


def test_what_only_looks_or_was_mistyped_is_not_kept(shell: Shell, pool: QueuePool) -> None:
    bury(pool, "dead", 1)

    for words in (
        ("dead", "replay", "--all", "--dry-run"),
        ("dead", "replay"),
        ("audit",),
        ("shadow",),
        ("hold", "group"),
        ("policy", "show"),
    ):
        shell.run(*words)

    assert told(pool) == []


def test_an_act_that_failed_is_kept(shell: Shell, pool: QueuePool) -> None:
    assert shell.run("dead", "replay", "nobody") == Exit.FAILED

    ((_what, _on, outcome),) = told(pool)
    assert outcome == (
        "0 replayed; failed: 1 of the named jobs are not dead, or do not match the filters"
    )


@pytest.mark.parametrize(
    ("strikes", "said"),
    [(KeyboardInterrupt(), "interrupted"), (UnavailableError("away"), "failed: away")],
)
def test_an_act_that_is_aborted_says_how_far_it_came_and_in_what_time(
    shell: Shell,
    pool: QueuePool,
    monkeypatch: pytest.MonkeyPatch,
    strikes: BaseException,
    said: str,
) -> None:
    bury(pool, "dead", 2)
    real, calls = dead._Done.change, iter(range(9))

    def change(self: dead._Done, *given: Any) -> None:
        if next(calls):
            raise strikes
        real(self, *given)

    monkeypatch.setattr(dead._Done, "change", change)
    shell.run("dead", "discard", "--all", "--yes", "--rate", "1.9")

    begin, end = pool.log()
    act = re.escape(begin.outcome.removeprefix("begins "))
    assert re.fullmatch(rf"1 discarded in \d+\.\ds; {said} {act}", end.outcome)


@pytest.mark.parametrize(
    "words", [("dead", "replay", "--all"), ("group", "cancel", "dead"), ("audit", "--repair")]
)
def test_a_command_that_is_killed_has_left_its_begin(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    class Killed(BaseException):
        """Nothing catches it, as nothing catches SIGKILL."""

    def die(*_given: Any, **_named: Any) -> None:
        raise Killed

    bury(pool, "dead", 1)
    for owner, name in ((dead._Done, "change"), (TaskGroup, "cancel"), (Partition, "audit")):
        monkeypatch.setattr(owner, name, die)

    with pytest.raises(Killed):
        shell.run(*words, "--reason", "they asked")

    ((what, _on, outcome),) = told(pool, begins=True)
    assert (what, outcome) == (" ".join(words[:2]).removesuffix(" --repair"), "begins")
    assert pool.log()[0].why == "they asked"


def test_an_act_is_done_though_the_log_cannot_be_written(
    shell: Shell, pool: QueuePool, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set(pool.system[1] + b":log:act", "of another program")

    assert shell.run("hold", "all") == Exit.OK

    assert "held" in shell.out
    assert "this could not be written to the log: " in shell.err
    assert shell.run("log") == Exit.FAILED


def test_the_newest_entries_are_shown_and_more_are_said_to_be_there(
    shell: Shell, pool: QueuePool
) -> None:
    server, key = pool.system
    entries = [LogEntry(kind=LogKind.ACT, what=f"n{n}") for n in range(9)]
    server.run(key, [write_log(entries)])

    assert [one["what"] for one in shell.json("log", "--limit", "3")] == ["n6", "n7", "n8"]
    assert "older entries" in shell.err
    assert shell.run("log", "--since", "1s", "--until", "1s") == Exit.OK
    assert shell.run("log", "--limit", "501") == Exit.USAGE
    assert shell.run("log", "--follow", "--until", "1h") == Exit.USAGE


def test_what_comes_is_followed_once(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, key = pool.system
    server.run(key, [write_log([LogEntry(kind=LogKind.ACT, what="before")])])
    turns = iter(range(1, 4))

    class Pause:
        def wait(self, _seconds: float) -> bool:
            """Let something happen instead of waiting; the third time, somebody presses Ctrl-C."""
            turn = next(turns)
            if turn == 3:
                raise KeyboardInterrupt
            server.run(key, [write_log([LogEntry(kind=LogKind.OWNER, what=f"n{turn}")] * turn)])
            return False

    monkeypatch.setattr("queuepool.cli.commands.log.threading.Event", Pause)

    assert shell.run("log", "--follow", "--json") == Exit.INTERRUPTED
    assert [one["what"] for one in shell.lines] == ["before", "n1", "n2", "n2"]


def test_a_burst_is_followed_whole_also_beyond_the_limit_of_the_beginning(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, key = pool.system
    monkeypatch.setattr("queuepool.cli.commands.log._MOST", 5)

    def observed_ms() -> int:
        return pool.partition(0).observe().observed_ms

    class Pause:
        turns = 0

        def wait(self, _seconds: float) -> bool:
            """Let much happen at once; the second time, somebody presses Ctrl-C."""
            if self.turns:
                raise KeyboardInterrupt
            self.turns += 1
            for number in range(17):
                since_ms = observed_ms()
                while observed_ms() == since_ms:  # each has a millisecond of its own
                    pass
                server.run(key, [write_log([LogEntry(kind=LogKind.ACT, what=f"n{number}")])])
            return False

    monkeypatch.setattr("queuepool.cli.commands.log.threading.Event", Pause)

    assert shell.run("log", "--follow", "--json", "--limit", "3") == Exit.INTERRUPTED
    assert [one["what"] for one in shell.lines] == [f"n{number}" for number in range(17)]


def test_a_time_span_that_is_the_wrong_way_round_is_refused(shell: Shell) -> None:
    assert shell.run("log", "--since", "1h", "--until", "2h") == Exit.USAGE
    assert "--until is earlier than --since" in shell.err
