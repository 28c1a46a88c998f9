"""Real processes with another partition count than their keyspace: each says so, and stops."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from queuepool import ConfigurationError, QueuePool
from queuepool.partitions.route import Leave
from queuepool.process.embedded import find_server_binary
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.conftest import ServerFactory
from tests.integration.consumer.processes import ConsumerProcess
from tests.integration.coordinator.cluster import Process
from tests.integration.servers.clusters import local_cluster
from tests.paths import ROOT
from tests.shell import OURS, Shell
from tests.waiting import wait_until

COMMANDS = (
    ("check",),
    ("status",),
    ("status", "--json"),
    ("bulk", "rows.jsonl", "--task", "t", "--key", "k"),
    ("job", "show", "id", "--key", "k"),
    ("job", "cancel", "id", "--key", "k"),
    ("group", "show", "k"),
    ("group", "wait", "k"),
    ("group", "cancel", "k"),
    ("dead", "list"),
    ("dead", "show", "id"),
    ("scale", "0", "3"),
    ("watch",),
    ("audit",),
)
PROCESSES = (
    ("up", "--app", "tests.apps.recorded"),
    ("consumer", "--app", "tests.apps.recorded", "--partition", "5"),
    ("coordinator",),
)
Run = Callable[[tuple[str, ...], Mapping[str, str]], tuple[int, str]]


def variables(url: str, stage: str, partitions: int, **more: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    return env | {
        "QUEUEPOOL_URL": url,
        "QUEUEPOOL_STAGE": stage,
        "QUEUEPOOL_PARTITIONS": str(partitions),
        "COORDINATOR_GRPC_PORT": "0",
        "PYTHONPATH": str(ROOT),
        **more,
    }


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, in a process of its own when it is one; return its exit code and words."""
    monkeypatch.chdir(tmp_path)

    def run(words: tuple[str, ...], env: Mapping[str, str]) -> tuple[int, str]:
        if words not in PROCESSES:
            ours = {name: value for name, value in env.items() if name.startswith(OURS)}
            code, out, err = Shell(capsys).run_with(*words, **ours)
            return code, out + err
        done = subprocess.run(
            [sys.executable, "-m", "queuepool", *words],
            env=dict(env), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run


def about_the_count(said: str) -> list[str]:
    return [line for line in said.splitlines() if "configured here" in line]


@pytest.fixture
def keyspace(redis_url: str, stage: str, tmp_path: Path) -> str:
    """A keyspace of four partitions with a job in it; returns its stage."""
    (tmp_path / "rows.jsonl").write_text("{}\n")
    with pool(redis_url, stage, 4) as made:
        made.enqueue("t", partition_key="k")
    return stage


@contextmanager
def pool(url: str, stage: str, partitions: int) -> Iterator[QueuePool]:
    config = PoolConfig(topology=single(url, partitions), keyspace=Keyspace(stage))
    with QueuePool(config=config) as made:
        yield made


@pytest.mark.parametrize("words", [*COMMANDS, *PROCESSES], ids=" ".join)
def test_every_command_refuses_another_count_in_one_line(
    redis_url: str, keyspace: str, run: Run, words: tuple[str, ...]
) -> None:
    with redis.Redis.from_url(redis_url) as client:

        def kept() -> list[bytes]:  # all but what `check` and `up` try the server with
            return sorted(k for k in client.scan_iter(f"/{keyspace}/*") if b":probe:" not in k)

        before = kept()

        code, said = run(words, variables(redis_url, keyspace, 8))

        assert code == 2
        (line,) = about_the_count(said)
        assert "8 partitions are configured here" in line
        assert "has 4: " in line
        assert "Set QUEUEPOOL_PARTITIONS=4" in line
        assert kept() == before


@pytest.mark.parametrize("words", [("check",), ("dead", "list")], ids=" ".join)
def test_fewer_partitions_do_not_hide_what_the_others_hold(
    redis_url: str, keyspace: str, run: Run, words: tuple[str, ...]
) -> None:
    code, said = run(words, variables(redis_url, keyspace, 1))

    assert code == 2
    (line,) = about_the_count(said)
    assert "1 partitions are configured here" in line
    assert "has 4: " in line


def test_check_says_what_the_record_says_and_makes_none(
    redis_url: str, stage: str, run: Run
) -> None:
    def checked(partitions: int) -> str:
        _, said = run(("check", "--json"), variables(redis_url, stage, partitions))
        findings = json.loads(said.splitlines()[0])["findings"]
        return next(str(f["text"]) for f in findings if f["where"] == "route")

    assert "no route record yet" in checked(8)
    with pool(redis_url, stage, 4) as made:
        made.route.read(Leave.RECORD)
    assert "has 4 partitions, record version 1" in checked(4)


def test_a_consumer_that_heard_nothing_at_first_ends_when_it_hears_of_another_count(
    server_factory: ServerFactory, stage: str, tmp_path: Path
) -> None:
    system, other = server_factory(), server_factory()
    servers = json.dumps({"a": system.url, "b": other.url})
    with redis.Redis.from_url(system.url) as client:
        client.hset(f"/{stage}/sys/{{sys}}/main:route", mapping=_record(4))
    port = system.port
    system.stop()
    env = {"QUEUEPOOL_SERVERS": servers, "QUEUEPOOL_PLACEMENT": "0=a,1-7=b", "QUEUEPOOL_URL": ""}

    consumer = ConsumerProcess(
        "", stage, tmp_path, environment=env, partitions=8, partition=1, lease_s=2
    )
    try:
        wait_until(lambda: "owns partition 1" in consumer.log, 60)  # nothing held it up
        back = server_factory(port=port)
        with redis.Redis.from_url(back.url) as client:
            client.hset(f"/{stage}/sys/{{sys}}/main:route", mapping=_record(4))

        assert consumer.popen.wait(60) == 2
    finally:
        consumer.popen.kill()
        consumer.popen.wait()
    assert "8 partitions are configured here" in consumer.log


@pytest.mark.parametrize("spare", ["away", "read-only", "without replicas"])
def test_a_listed_server_without_partitions_need_not_answer_for_the_record_to_be_made(
    server_factory: ServerFactory, stage: str, tmp_path: Path, run: Run, spare: str
) -> None:
    system, other = server_factory(), server_factory()
    with redis.Redis.from_url(other.url) as client:
        if spare == "read-only":
            client.replicaof("127.0.0.1", str(system.port))
        elif spare == "without replicas":
            client.config_set("min-replicas-to-write", 1)
    if spare == "away":
        other.stop()
    names = json.dumps({"a": system.url, "b": other.url})
    env = {"QUEUEPOOL_SERVERS": names, "QUEUEPOOL_PLACEMENT": "0-3=a", "QUEUEPOOL_URL": ""}

    consumer = ConsumerProcess("", stage, tmp_path, environment=env, partitions=4, lease_s=2)
    with redis.Redis.from_url(system.url) as client:
        try:
            wait_until(lambda: client.hgetall(f"/{stage}/sys/{{sys}}/main:route"), 60)
            found = client.hgetall(f"/{stage}/sys/{{sys}}/main:route")
            for count in (2, 8):
                more = env | {"QUEUEPOOL_PLACEMENT": f"0-{count - 1}=a"}
                code, said = run(("status",), variables("", stage, count, **more))
                assert code == 2
                assert "has 4: " in about_the_count(said)[0]
        finally:
            consumer.popen.kill()
            consumer.popen.wait()
    assert found[b"partitions"] == b"4"
    assert found.get(b"unheard") == (b"b" if spare == "away" else None)


def _record(partitions: int) -> dict[str, str]:
    return {"version": "1", "partitions": str(partitions), "layout": "mod", "created": "1"}


def test_a_record_that_a_server_forgot_is_made_again_by_those_who_live(
    server_factory: ServerFactory, stage: str
) -> None:
    server = server_factory()
    coordinator = Process(server.url, stage, partitions=4)
    key = Keyspace(stage=stage).system() + b":route"
    try:
        with redis.Redis.from_url(server.url) as client:
            wait_until(lambda: client.hget(key, "partitions") == b"4")

            client.flushall()

            wait_until(lambda: client.hget(key, "partitions") == b"4", 60)
        with pool(server.url, stage, 8) as wrong, pytest.raises(ConfigurationError):
            wrong.enqueue("t", partition_key="a")
    finally:
        coordinator.kill()


def test_on_a_cluster_the_record_lives_on_one_node_and_holds_for_all(
    stage: str, tmp_path: Path
) -> None:
    with local_cluster(find_server_binary(), tmp_path) as cluster:
        with pool(cluster.url, stage, 6) as made:
            for n in range(20):
                made.enqueue("t", partition_key=str(n))
        with pool(cluster.url, stage, 12) as wrong:
            for n in range(20):
                with pytest.raises(ConfigurationError, match="12 partitions"):
                    wrong.enqueue("t", partition_key=str(n))
