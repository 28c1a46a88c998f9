"""Commands name the remedy that helps: rights, memory, a maximum."""

import json
from pathlib import Path

import pytest
import redis

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.protocol.keys import Keyspace
from queuepool.verbs.acl import ROLES
from tests.conftest import ServerFactory
from tests.integration.cli.jobs import KEY, write
from tests.shell import Shell


def test_a_user_without_rights_hears_of_rights_and_not_of_a_server_that_is_away(
    shell: Shell, server_factory: ServerFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = server_factory()
    rules = ROLES["producer"].rules(Keyspace("dev", "main"))
    with redis.Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", *rules)
    monkeypatch.setenv("QUEUEPOOL_STAGE", "dev")
    monkeypatch.setenv("QUEUEPOOL_URL", server.url.replace("//", "//app:secret@"))
    up = ("up", "--app", "x")
    file = write("rows.csv", "a\n1\n")

    for words in (("check",), ("status",), ("scale", "1", "3"), ("audit",), up):
        assert shell.run(*words) == Exit.FAILED
        said = shell.out + shell.err
        assert "queuepool acl" in said, said
        assert "tart it" not in said
    assert shell.run("check", "--json") == Exit.FAILED
    assert "user app may not call" in shell.out

    bulk = ("bulk", file, "--task", "t", "--key", KEY, "--wait", "--timeout", "50ms")
    assert shell.run(*bulk) == Exit.FAILED  # a producer may do this; no one runs the job
    assert "1 of 1 jobs" in shell.err


def test_a_rejected_password_names_both_variables_that_may_hold_it(
    shell: Shell, server_factory: ServerFactory
) -> None:
    server = server_factory()
    with redis.Redis.from_url(server.url) as admin:
        admin.config_set("requirepass", "secret")

    for url in (server.url, server.url.replace("//", "//:wrong@")):
        for word in ("check", "status"):
            _, out, err = shell.run_with(word, QUEUEPOOL_SERVERS=json.dumps({"main": url}))
            assert "QUEUEPOOL_URL or QUEUEPOOL_SERVERS" in out + err
            assert ".." not in out + err


def test_a_server_that_is_away_is_told_without_doubled_punctuation(
    shell: Shell,
) -> None:
    servers = json.dumps({"main": "redis://127.0.0.1:1/0"})

    code, out, _ = shell.run_with("check", QUEUEPOOL_SERVERS=servers)

    assert code == Exit.UNAVAILABLE
    assert "refused). Start it, or fix QUEUEPOOL_URL or QUEUEPOOL_SERVERS" in out


def levels_about(words: str, shell: Shell) -> set[str]:
    return {f["level"] for f in shell.lines[0]["findings"] if words in f["text"]}


def test_check_warns_before_the_memory_is_full(
    shell: Shell, server_factory: ServerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_factory(maxmemory=50 * 2**20)
    monkeypatch.setenv("QUEUEPOOL_URL", server.url)
    with redis.Redis.from_url(server.url) as client:
        assert shell.run("check", "--json") == Exit.OK
        assert {f["level"] for f in shell.lines[0]["findings"] if "maxmemory" in f["text"]} == {
            "ok"
        }

        used = client.info("memory")["used_memory"]
        for n in range(1000):
            client.set(f"ballast-{n}", b"x" * 30_000)
        grown = client.info("memory")["used_memory"]
        assert grown > used + 20 * 2**20
        client.config_set("maxmemory", int(grown / 0.88))
        assert shell.run("check", "--json") == Exit.OK
        levels = {f["level"] for f in shell.lines[0]["findings"] if "of maxmemory is" in f["text"]}
        assert levels == {"warning"}

        client.config_set("maxmemory", int(grown / 0.98))
        assert shell.run("check") == Exit.FAILED
        assert "enqueues are rejected. Raise maxmemory" in shell.out

        client.config_set("maxmemory", 2**20)
        assert shell.run("check") == Exit.FAILED
        assert shell.out.count("command not allowed when used memory") == 1  # one cause is one line
        assert "SET, " in shell.out


def test_the_repair_that_the_log_names_frees_a_log_whose_place_another_program_took(
    shell: Shell, pool: QueuePool, redis_url: str
) -> None:
    _, base = pool.system
    key = f"{base.decode()}:log:act"
    with redis.Redis.from_url(redis_url) as client:
        client.set(key, "not ours")

        assert shell.run("log") == Exit.FAILED
        assert "`queuepool audit --repair`" in shell.err
        assert shell.run("audit") == Exit.FAILED
        assert "wrong type: log:act" in shell.out
        assert shell.run("audit", "--json") == Exit.FAILED
        assert shell.lines[0][-1] == {
            "partition": None, "pool": "default", "foreign": 1, "keys": ["log:act"], "clean": False
        }  # fmt: skip
        assert shell.run("audit", "--repair") == Exit.OK
        assert client.type(key) in (b"none", b"stream")

    assert shell.run("audit") == Exit.OK
    assert shell.run("log", "--kind", "act") == Exit.OK
    assert "audit" in shell.out  # the repair itself


def test_a_route_of_the_wrong_type_is_named_and_left_to_people(
    shell: Shell, pool: QueuePool, redis_url: str
) -> None:
    _, base = pool.system
    key = f"{base.decode()}:route"
    with redis.Redis.from_url(redis_url) as client:
        client.delete(key)
        client.set(key, "not ours")

        assert shell.run("audit", "--repair") == Exit.OK
        assert "never deleted" in shell.err
        assert client.get(key) == b"not ours"


def test_one_who_sets_one_bound_of_the_workers_hears_what_becomes_of_the_other(
    shell: Shell,
) -> None:
    assert shell.run("policy", "set", "min_workers=50") == Exit.OK
    assert "max_workers is not set: where that of the coordinator is lower than 50" in shell.err
    assert shell.run("policy", "set", "mode=hold") == Exit.OK
    assert shell.err == ""
    assert shell.run("policy", "set", "max_workers=60") == Exit.OK
    assert shell.err == ""
    assert shell.run("policy", "set", "min_workers=", "max_workers=4") == Exit.OK
    assert "min_workers is not set: where that of the coordinator is higher than 4" in shell.err


def test_one_who_sets_a_schedule_of_a_wrong_year_hears_that_it_is_over(shell: Shell) -> None:
    past, next_one = "2025-11-27 07:45-12:00 Europe/Berlin times=3", "DAILY 07:00-09:00 floor=2"

    assert shell.run("policy", "set", f"schedule={past}; {next_one}") == Exit.OK
    assert shell.err == f"in the past, so without effect: {past}\n"
    assert shell.run("policy", "set", "mode=hold") == Exit.OK
    assert shell.err == ""
    assert shell.run("policy", "set", f"schedule={next_one}") == Exit.OK
    assert shell.err == ""
