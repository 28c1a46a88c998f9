"""A whole job's life over real processes, each under the user of its role."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import QueuePool
from queuepool.cli.commands.acl import ADMIN, hashed, variable
from queuepool.cli.exits import Exit
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Enqueued
from queuepool.verbs.acl import ROLES
from tests.integration.consumer.processes import ConsumerProcess, Records
from tests.integration.coordinator.cluster import Process
from tests.security.roles import GuardedServer, guarded_server
from tests.shell import Shell
from tests.waiting import wait_until

PARTITIONS = 2


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def test_every_process_has_all_the_rights_it_needs(
    guarded: GuardedServer, shell: Shell, tmp_path: Path
) -> None:
    stage = guarded.space.stage
    settings = {"QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": str(PARTITIONS)}
    consumers = [
        ConsumerProcess(
            guarded.url("consumer"),
            stage,
            tmp_path,
            partition=n,
            partitions=PARTITIONS,
            lease_s=60,  # each is seen to own, also on a machine that stands still
            pools="default=8..64,video=1..2",
        )
        for n in range(PARTITIONS)
    ]
    coordinator = Process(guarded.url("coordinator"), stage)
    topology = build({"main": guarded.url("producer")}, PARTITIONS, "")
    try:
        with QueuePool(config=PoolConfig(topology=topology, keyspace=guarded.space)) as pool:

            def state(key: str, job: Enqueued) -> str:
                return str(pool.status(job.job_id, partition_key=key).state)

            keys = [f"k{n}" for n in range(20)]
            jobs = [(key, pool.enqueue("work", {}, partition_key=key)) for key in keys]
            jobs.append(("k0", pool.enqueue("work", {}, partition_key="k0", delay_s=0.2)))
            jobs.append(("k3", pool.enqueue("work", {}, partition_key="k3", pool="video")))
            failing = pool.enqueue("fail", {}, partition_key="k1", max_attempts=2)
            gone = pool.enqueue("work", {}, partition_key="k2", delay_s=600)

            assert pool.cancel(gone.job_id, partition_key="k2") == "delayed"
            wait_until(lambda: all(state(*job) == "done" for job in jobs), 60.0, "all are done")
            wait_until(lambda: state("k1", failing) == "dead", 60.0, "the failing one is dead")
            assert pool.group("k0").status().done >= 2
            at = pool.group("k3").partition.number

        def run(role: str, *words: str) -> tuple[int, str, str]:
            return shell.run_with(*words, QUEUEPOOL_URL=guarded.url(role), **settings)

        def rows() -> list[dict[str, object]]:
            code, out, err = run("ops-read", "status", "--json")
            assert code == 0, err
            return list(json.loads(out)["partitions"])

        assert all(row["owner"] for row in rows())
        assert failing.job_id in run("ops-read", "dead", "list")[1]
        code, _, err = run("ops-read", "dead", "replay", "--all")
        assert (code, "queuepool acl" in err) == (1, True), err
        for words in (
            ("dead", "replay", "--all"),
            ("scale", "0", "9", "--grpc", coordinator.grpc),
            ("scale", f"{at}/video", "2", "--grpc", coordinator.grpc),
            ("hold", "pool", "video", "--grpc", coordinator.grpc),
            ("hold", "all", "--grpc", coordinator.grpc),
            ("release", "all", "--grpc", coordinator.grpc),
            ("group", "configure", "k0", "--max-running", "2", "--grpc", coordinator.grpc),
            ("hold", "group", "k0", "--grpc", coordinator.grpc),
            ("release", "group", "k0", "--grpc", coordinator.grpc),
            ("check",),
        ):
            code, out, err = run("ops", *words)
            assert code == 0, out + err
        wait_until(lambda: rows()[0]["workers"] == 9, 60.0, "9 workers")
        video = {row["partition"]: row for row in rows() if row["pool"] == "video"}
        assert video[at]["manual_until_ms"]
        assert Records(tmp_path).ended() >= 21
    finally:
        for consumer in consumers:
            consumer.kill()
        coordinator.kill()

    # What ops-read tried, and nothing else: the entry of the log, the first write of a replay
    assert set(guarded.denied()) == {
        f"{stage}-main-ops-read command {word}" for word in ("xrange", "zrem")
    }


def test_a_redis_cluster_knows_the_same_users(
    engine_binary: Path, stage: str, shell: Shell, tmp_path: Path
) -> None:
    words = ("--cluster-enabled", "yes", "--cluster-config-file", str(tmp_path / "nodes.conf"))
    with guarded_server(engine_binary, stage, tmp_path, *words) as guarded:
        with guarded.client(ADMIN) as admin:
            admin.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            wait_until(lambda: "cluster_state:ok" in str(admin.execute_command("CLUSTER", "INFO")))

        def settings(role: str) -> dict[str, str]:
            url = guarded.url(role).replace("redis://", "redis+cluster://")
            return {"QUEUEPOOL_URL": url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "2"}

        rows = tmp_path / "rows.csv"
        rows.write_text("n\n" + "1\n" * 20)
        bulk = ("bulk", str(rows), "--task", "t", "--key", "k")

        for role, command, expected in (
            ("producer", bulk, Exit.OK),
            ("ops-read", ("status",), Exit.UNATTENDED),  # it may look; there is no consumer
            ("ops", ("check",), Exit.OK),
        ):
            code, out, err = shell.run_with(*command, **settings(role))
            assert code == expected, out + err
        assert guarded.denied() == []


def test_a_process_without_the_rights_says_what_to_do(
    guarded: GuardedServer, tmp_path: Path
) -> None:
    process = ConsumerProcess(guarded.url("producer"), guarded.space.stage, tmp_path)
    try:
        process.says("queuepool acl", timeout_s=60.0)
    finally:
        process.kill()
    assert "password-of" not in process.log


@pytest.mark.parametrize("form", ["aclfile", "setuser"])
def test_passwords_come_from_the_environment_and_missing_ones_are_made(
    shell: Shell, form: str
) -> None:
    given = {variable("producer"): "open-sesame", variable("ops"): hashed("other")}
    words = ("acl", "--stage", "prod", "--format", form)

    _, rules, said = shell.run_with(*words, **given)
    made = dict(line.split("=", 1) for line in said.splitlines())
    again = shell.run_with(*words, **given, **made)

    admin = {ADMIN} if form == "aclfile" else set()
    assert set(made) == {variable(r) for r in (*ROLES, *admin)} - set(given)
    assert all(len(password) > 40 for password in made.values())
    assert again == (0, rules, "")
    assert hashed("open-sesame") in rules
    assert hashed("other") in rules
    assert "open-sesame" not in rules + said
    assert not any(password in rules for password in made.values())
    start = "ACL SETUSER " if form == "setuser" else "user "
    assert all(line.startswith(start) for line in rules.splitlines())
    assert "~/prod/queue/{partition_*}/main:j " in rules


def test_commands_for_a_server_with_users_make_the_same_users_again_and_again(
    engine_binary: Path, shell: Shell
) -> None:
    passwords = {variable(role): f"password-of-{role}" for role in ROLES}
    _, commands, _ = shell.run_with("acl", "--stage", "prod", "--format", "setuser", **passwords)
    _, template, _ = shell.run_with("acl", "--stage", "prod", "--format", "template")

    with EmbeddedServer(binary=engine_binary) as server, redis.Redis.from_url(server.url) as admin:
        for _ in range(2):  # an upgrade sends them again
            for line in commands.splitlines():
                assert admin.execute_command(*line.split(" "))
        users = {u["username"]: u for u in map(described, admin.execute_command("ACL", "LIST"))}

    for line in template.splitlines():
        name, rules = line.split(" ", 2)[1:]
        wanted = re.findall(r"\([^)]*\)", rules)
        assert users[name]["selectors"] == len(wanted), name
        assert users[name]["on"]


def described(line: str | bytes) -> dict[str, Any]:
    """Return what a server's list of users says of one."""
    text = line.decode() if isinstance(line, bytes) else line
    words = text.split(" ")
    return {"username": words[1], "on": words[2] == "on", "selectors": text.count("(")}
