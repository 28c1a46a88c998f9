"""A server that answers reads and refuses every write is what the doctor finds first."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from coordinator.assembly import assemble
from coordinator.loop.doctor import DoctorWatch
from coordinator.settings import load
from coordinator.snapshots.verdict import VerdictBoard
from queuepool import PoolConfig, QueuePool, UnavailableError
from queuepool.cli.exits import Exit
from queuepool.models.doctor import Finding, Verdict
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.topology import build, single
from tests.integration.coordinator.cluster import BRIEF, FAST
from tests.replicas import replica_arguments
from tests.shell import Shell
from tests.waiting import wait_until

Servers = dict[str, EmbeddedServer]


@pytest.fixture
def servers(engine_binary: Path, tmp_path: Path) -> Iterator[Servers]:
    """Two servers; the second holds partitions 2 and 3, and nothing that is shared."""
    with (
        EmbeddedServer(tmp_path / "a", binary=engine_binary) as first,
        EmbeddedServer(tmp_path / "b", binary=engine_binary) as second,
    ):
        yield {"a": first, "b": second}


def misconf(server: EmbeddedServer) -> None:
    """Let snapshots of a server fail."""
    with redis.Redis.from_url(server.url) as admin:
        admin.config_set("save", "3600 1")
        settings = admin.config_get("dir", "dbfilename")
        in_the_way = Path(settings["dir"], settings["dbfilename"])
        in_the_way.mkdir()
        admin.bgsave()
        wait_until(lambda: admin.info("persistence")["rdb_last_bgsave_status"] == "err")
        in_the_way.rmdir()


def alone(server: EmbeddedServer) -> None:
    """Let a server require a replica."""
    with redis.Redis.from_url(server.url) as admin:
        admin.config_set("min-replicas-to-write", 1)


def of_two(servers: Servers) -> QueuePool:
    topology = build({name: server.url for name, server in servers.items()}, 4, "0-1=a,2-3=b")
    return QueuePool(config=PoolConfig(topology=topology, retry_for_s=0))


def refusal(verdict: Verdict) -> Finding:
    """Return the first finding."""
    assert verdict.findings[0].kind == "refuses-writes", verdict.findings
    return verdict.findings[0]


@pytest.mark.parametrize(("break_it", "word", "remedy"), [
    (misconf, "MISCONF", "disk"), (alone, "NOREPLICAS", "min-replicas-to-write"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_server_that_refuses_writes_is_found_in_a_single_look(
    servers: Servers,
    break_it: Callable[[EmbeddedServer], None],
    word: str,
    remedy: str,
    name: str,
) -> None:
    with of_two(servers) as pool:
        for n in range(20):
            pool.enqueue("t", {}, partition_key=f"k{n}")
        break_it(servers[name])
        with pytest.raises(UnavailableError, match=word):
            pool.partition(0 if name == "a" else 2).acquire(lease_s=1)

        found = refusal(pool.doctor())

        assert found.subject == f"server {name}"
        assert word in found.what
        assert remedy in found.remedy


def test_a_replica_is_found(engine_binary: Path, tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "primary", binary=engine_binary) as primary:
        extra = replica_arguments(primary.port)
        with EmbeddedServer(tmp_path / "r", binary=engine_binary, extra_args=extra) as replica:
            config = PoolConfig(topology=single(replica.url, 1), retry_for_s=0)
            with QueuePool(config=config) as pool:
                found = refusal(pool.doctor())

    assert "READONLY" in found.what
    assert "QUEUEPOOL_URL" in found.remedy


@pytest.mark.parametrize("command", [
    "partitions show", "moves", "job show mine", "decisions", "log", "limit list", "schedule list",
    "group show k", "group list", "dead list", "errors", "flow list", "tenant show t", "what-if",
])  # fmt: skip
def test_a_command_that_reads_gets_its_route_from_a_server_that_refuses_writes(
    servers: Servers, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = servers["a"].url
    with QueuePool(config=PoolConfig(topology=single(url, 4), retry_for_s=0)) as pool:
        pool.enqueue("t", {}, partition_key="k", job_id="mine")
    alone(servers["a"])

    code, _, err = Shell(capsys).run_with(
        *command.split(), QUEUEPOOL_URL=url, QUEUEPOOL_PARTITIONS="4", QUEUEPOOL_RETRY_FOR_S="0"
    )

    assert (code, err) == (0, "")


def test_status_says_what_there_is_on_a_server_that_refuses_writes(
    servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    url = servers["a"].url
    with QueuePool(config=PoolConfig(topology=single(url, 1), retry_for_s=0)) as pool:
        pool.enqueue("t", {}, partition_key="k")
    alone(servers["a"])

    settings = {"QUEUEPOOL_URL": url, "QUEUEPOOL_PARTITIONS": "1", "QUEUEPOOL_RETRY_FOR_S": "0"}
    code, out, err = Shell(capsys).run_with("status", "--json", **settings)

    assert (code, err) == (Exit.UNATTENDED, "")
    assert json.loads(out)["partitions"][0]["backlog"] == 1


def test_a_refused_write_says_that_the_server_refuses_all(servers: Servers) -> None:
    with of_two(servers) as pool:
        pool.enqueue("t", {}, partition_key="k")
        alone(servers["a"])
        with pytest.raises(UnavailableError, match=r"refuses every write.*queuepool doctor"):
            pool.partition(0).acquire(lease_s=1)


def _kinds(board: VerdictBoard) -> list[str]:
    return [one.kind for one in board.latest.findings] if board.latest is not None else []


def test_a_coordinator_finds_it_although_it_cannot_lead(servers: Servers) -> None:
    with of_two(servers) as pool:
        coordinator = assemble(pool, load(FAST | BRIEF), address="here")
        board = VerdictBoard()
        doctor = DoctorWatch(pool, coordinator.store, board, interval_s=0.1)
        coordinator.start()
        doctor.start()
        try:
            wait_until(lambda: coordinator.store.snapshot.leading)
            alone(servers["a"])
            wait_until(lambda: not coordinator.store.snapshot.leading, timeout_s=30)
            wait_until(lambda: _kinds(board)[:1] == ["refuses-writes"], timeout_s=40)
        finally:
            doctor.stop()
            coordinator.stop()

    assert board.latest is not None
    assert refusal(board.latest).since_ms is not None
