"""No command prints a raw control character, whatever was typed, planted or answered.

Every command and every argument of it is found in the parser: a new one is tried by itself. One
that needs more words than its name fails here until BASE says which.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import QueuePool, cli
from queuepool.cli.parser import build_parser
from queuepool.process.embedded import EmbeddedServer
from tests.sampling import one_in
from tests.security.planted import NASTY, body_of, controls, plant_dead

GROUP = NASTY.encode()[:60]
TYPED = NASTY.replace("\x00", "")  # no argument of a program can hold a NUL
# command -> words without which it does nothing; {} stands for nasty text
BASE: dict[tuple[str, ...], list[str]] = {
    ("demo",): ["--items", "{}"],
    ("up",): ["--app", "{}", "--url", "{url}"],
    ("bulk",): ["rows.jsonl", "--task", "t", "--key", "k"],
    ("migrate", "shift"): ["--key", "{}"],
    ("migrate", "seal"): ["--yes"],
    ("partitions", "set"): ["2", "--on", "{}"],
    ("drain",): ["0"],
    ("move",): ["0", "--to", "{}"],
    ("import",): ["celery", "--from", "{url}", "--move"],
    ("faults",): ["{}:{}"],
    ("schedule", "declare"): ["--app", "{}"],
    ("job", "show"): ["planted"],
    ("job", "cancel"): ["planted"],
    ("job", "edit"): ["planted", "--payload", "{}"],
    ("job", "run"): ["planted"],
    ("job", "history"): ["planted"],
    ("group", "show"): ["k"],
    ("group", "wait"): ["k", "--timeout", "0.01s"],
    ("group", "cancel"): ["k"],
    ("group", "configure"): ["k", "--serial"],
    ("hold",): ["group", "k"],
    ("release",): ["group", "k"],
    ("web",): ["--link"],
    ("watch",): ["--for", "0.2s", "--interval", "0.1s"],
    ("scale",): ["0", "3"],
    ("policy", "set"): ["mode=hold"],
    ("why",): ["0"],
    ("record",): ["recorded", "--for", "0.2s", "--cycle", "0.1s"],
    ("replay",): ["rows.jsonl"],
    ("what-if",): ["--watch", "0.1s"],
    ("simulate",): ["--policy", "{}", "--trace", "rows.csv"],
    ("tenant", "show"): ["planted"],
    ("tenant", "configure"): ["planted", "--weight", "3"],
    ("tenant", "hold"): ["planted"],
    ("tenant", "release"): ["planted"],
    ("limit", "show"): ["planted"],
    ("limit", "set"): ["mail", "--rate", "3"],
    ("limit", "pause"): ["planted"],
    ("limit", "resume"): ["planted"],
    ("limit", "remove"): ["planted"],
    ("schedule", "show"): ["planted"],
    ("schedule", "set"): ["mail", "t", "--every", "1h"],
    ("schedule", "pause"): ["planted"],
    ("schedule", "resume"): ["planted"],
    ("schedule", "run"): ["planted"],
    ("schedule", "remove"): ["planted"],
    ("flow", "show"): ["AAplantedAAAAA"],
    ("flow", "cancel"): ["AAplantedAAAAA"],
    ("dead", "show"): ["--partition", "0"],
    ("dead", "replay"): ["nobody"],
    ("dead", "discard"): ["nobody", "--yes"],
    ("consumer",): ["--app", "{}"],
    ("coordinator",): ["--policy", "{}"],
}
BECOME = (("consumer",), ("coordinator",))  # they replace the process, so they get one


def commands(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield every command with its parser."""
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not inner:
        yield path, parser
    for action in inner:
        for name, sub in action.choices.items():
            yield from commands(sub, (*path, name))


def arguments() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every command with each of its arguments that takes a value, and with none."""
    for path, parser in commands(build_parser()):
        yield path, ""
        for action in parser._actions:
            if action.nargs != 0:
                yield path, action.option_strings[-1] if action.option_strings else action.dest


def few() -> list[Any]:
    """Return every command alone, and half of the arguments: `make test-slow` tries all."""
    alone = [case for case in arguments() if not case[1]]
    return [*alone, *one_in(2, (case for case in arguments() if case[1]))]


def words(path: Sequence[str], argument: str, url: str) -> list[str]:
    base = [w.replace("{}", TYPED).replace("{url}", url) for w in BASE.get(tuple(path), [])]
    if argument.startswith("-"):
        return [*path, *base, f"{argument}={TYPED}"]
    return [*path, TYPED, *base[1:]] if argument else [*path, *base]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on which every text that anybody could write is nasty."""
    with EmbeddedServer(appendonly=False) as server:
        yield server.url


@pytest.fixture
def planted(url: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QueuePool:
    for name in [n for n in os.environ if n.startswith(("QUEUEPOOL_", "CONSUMER_", "COORDIN"))]:
        monkeypatch.delenv(name)
    for name, value in {"URL": url, "STAGE": stage, "PARTITIONS": "2", "RETRY_FOR_S": "1"}.items():
        monkeypatch.setenv(f"QUEUEPOOL_{name}", value)
    monkeypatch.setenv("QUEUEPOOL_A\x1b[31m", "a variable that nothing reads")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(json.dumps({NASTY: NASTY}) + "\n")
    (tmp_path / "rows.csv").write_text(f'"{NASTY}",b\n1\n', newline="")
    with QueuePool.from_env() as pool:
        plant(pool, url)
    return pool


def plant(pool: QueuePool, url: str) -> None:
    """Write nasty text into every field that the commands show."""
    base, system = pool.config.keyspace.partition(0), pool.config.keyspace.system()
    error = dict.fromkeys(("reason", "type", "message", "traceback"), NASTY)
    body = body_of(GROUP, task=NASTY, payload={NASTY: NASTY})
    for job_id in (NASTY.encode(), b"planted", b"\xff\xfe"):
        plant_dead(pool, job_id, body=body, error=json.dumps(error).encode())
    nasty = NASTY.encode() + b"\xff"
    far = "99999999999999"
    with redis.Redis.from_url(url) as client:
        client.hset(base + b":ua", mapping={"a": nasty})
        client.hset(base + b":pr", mapping={"planted": nasty})
        numbers = dict.fromkeys(("heartbeat", "workers", "busy", "target"), "1")
        owner = {"nonce": "n", "epoch": "5", "expires": far, "host": nasty, "applied": nasty}
        client.hset(base + b":o", mapping=owner | numbers)
        other = pool.config.keyspace.partition(1)
        client.hset(other + b":c", mapping={nasty: nasty, b"r0": nasty})
        for partition in pool.partitions():
            for name in (nasty, b"planted"):
                fields = ("set", "code", "paused", "pace", "granted", "until", "told", "used")
                client.hset(partition.key + b":li:" + name, mapping=dict.fromkeys(fields, nasty))
                client.zadd(partition.key + b":ls", {name: 0})
            for name in (nasty, b"AAplantedAAAAA"):
                client.zadd(partition.key + b":bd", {name: 0})
                known = ("called", "then", "within", "total", "due", "created", "how", "s:1")
                client.hset(partition.key + b":b:" + name, mapping=dict.fromkeys(known, nasty))
                client.hset(partition.key + b":b:" + name, "state", "open")
        leader = {"nonce": "n", "epoch": "5", "expires": far, "address": nasty}
        client.hset(system + b":leader", mapping=leader)
        record = json.dumps({"values": {NASTY: NASTY, "mode": NASTY}, "reason": NASTY})
        policy = {"version": "5", "nonce": nasty, "record": record, "by": nasty, "at": far}
        client.hset(system + b":policy", mapping=policy)
        named = {"task": NASTY, "partition_key": NASTY, "tier": NASTY, "limit": [NASTY]}
        schedule = json.dumps({"name": "planted", "payload": {NASTY: NASTY}, "every": 9} | named)
        stored = b"5:5:0:" + nasty.replace(b"\n", b" ") + b"\n" + schedule.encode()
        texts = dict.fromkeys(("what", "subject", "who", "via", "why", "outcome"), NASTY)
        for text in (json.dumps(texts).encode(), nasty):
            client.xadd(system + b":log:act", {"e": text})
        client.hset(system + b":schedules", mapping={nasty: nasty, b"planted": stored, b"": "5"})


def run(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    if (argv[0],) in BECOME:
        done = subprocess.run(
            [sys.executable, "-m", "queuepool", *argv], capture_output=True, check=False, timeout=60
        )
        return done.stdout.decode(), done.stderr.decode()
    with contextlib.suppress(SystemExit):
        cli.main(argv)
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_every_command_is_tried_with_the_words_that_it_needs() -> None:
    known = dict(commands(build_parser()))

    assert set(BASE) <= set(known)
    for path in set(known) - set(BASE):
        assert known[path].parse_args([]).run


@pytest.mark.parametrize(("path", "argument"), few(), ids=str)
def test_a_command_prints_nothing_that_steers_a_terminal(
    path: tuple[str, ...], argument: str, planted: QueuePool, url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    argv = words(path, argument, url)
    parser = dict(commands(build_parser()))[path]
    in_json = any("--json" in action.option_strings for action in parser._actions)

    out, err = run(argv, capsys)
    exact, exact_err = run([*argv, "--json"], capsys) if in_json else ("", "")

    assert not controls(out + err + exact + exact_err)
    assert not controls(exact, allowed=("\n",))
    assert "forged line" not in [line.split(" \\x7f")[0] for line in (out + err).splitlines()]
    assert "Traceback (most" not in err + exact_err
    for line in exact.splitlines():
        json.loads(line)


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", f"{TYPED}.csv", "no\x1b[31m.csv"])
@pytest.mark.parametrize("column", [NASTY, "no\x1bcolumn"])
def test_the_names_in_a_file_of_rows_steer_nothing(
    name: str, column: str, planted: QueuePool, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["bulk", name, "--task", "t", "--key", TYPED, "--id", column])

    captured = capsys.readouterr()

    assert captured.err.startswith(("queuepool: ", "1 jobs enqueued"))
    assert not controls(captured.out + captured.err)


def test_nasty_settings_are_refused_in_clean_lines(
    planted: QueuePool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("URL", "SERVERS", "PLACEMENT", "PARTITIONS", "STAGE", "QUEUE", "DURABILITY", "TLS_CA")
    for name in names:
        with monkeypatch.context() as patch:
            patch.setenv(f"QUEUEPOOL_{name}", TYPED)
            for command in ("check", "status"):
                run([command], capsys)
                out, err = run([command], capsys)
                assert not controls(out + err), name
                assert "Traceback" not in err, name
    monkeypatch.delenv("QUEUEPOOL_URL")
    monkeypatch.setenv("QUEUEPOOL_SERVERS", json.dumps({NASTY: "redis://h", "b": NASTY}))
    assert not controls("".join(run(["check"], capsys)))


@pytest.mark.parametrize("field", ["pid", "servers", "placement", "stage", "grpc_address", NASTY])
def test_planted_state_steers_nothing(
    field: str, planted: QueuePool, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("QUEUEPOOL_URL")
    state: dict[str, Any] = {
        "pid": os.getpid(), "servers": {"main": "redis://127.0.0.1:1"}, "placement": "",
        "partitions": 2, "stage": "dev", "queue": "main", "grpc_address": None,
    }  # fmt: skip
    state[field] = {NASTY: NASTY} if field == "servers" else NASTY
    directory = Path(".queuepool")
    directory.mkdir(mode=0o700)
    path = directory / "cluster.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(state))

    for command in ("status", "check", "dead list"):
        out, err = run(command.split(), capsys)
        assert not controls(out + err)
        assert "Traceback" not in err
