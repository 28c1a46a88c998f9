"""`queuepool up` and what is done beside it, with real processes."""

import json
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.slots import partition_of, slot_of
from tests.e2e.clusters import LocalUp, run, up
from tests.waiting import process_is_gone, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("cluster"), pytest.mark.timeout(240)]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copy(Path(__file__).with_name("app.py"), tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalUp]:
    """A cluster that the gentle tests share."""
    directory = tmp_path_factory.mktemp("cluster")
    shutil.copy(Path(__file__).with_name("app.py"), directory)
    with up(directory, "--app", "app", "--partitions", "2", "--base-workers", "4") as running:
        yield running


def rows(directory: Path, count: int, name: str = "rows.csv") -> str:
    (directory / name).write_text("n\n" + "".join(f"{n}\n" for n in range(count)))
    return name


def occupy(cluster: LocalUp) -> socket.socket:
    """Kill the coordinator and listen on its port; again if it was back before we had that."""
    was = cluster.state.grpc_address
    assert was is not None
    host, _, port = was.rpartition(":")
    killed: set[int] = set()
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def bound() -> bool:
        with suppress(AssertionError):  # it is not back yet
            pid = cluster.pid_of("coordinator")
            if pid not in killed:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        with suppress(OSError):
            taken.bind((host, int(port)))
            return True
        return False

    wait_until(bound, message="the port is free")
    taken.listen()
    return taken


# -- beside a running cluster ------------------------------------------------------------------


def test_commands_in_the_same_directory_find_the_cluster(cluster: LocalUp) -> None:
    wait_until(lambda: cluster.status()["totals"]["workers"] == 8, message="a cycle has seen all")
    status = cluster.run("status", "--json").last

    assert status["source"] == f"coordinator {cluster.state.grpc_address}"
    assert status["leader"]
    assert [p["owned"] for p in status["partitions"]] == [True, True]
    assert [p["workers"] for p in status["partitions"]] == [4, 4]


def test_a_manual_count_arrives_at_the_workers_and_leaves_again(cluster: LocalUp) -> None:
    def workers() -> list[int]:
        return [p["workers"] for p in cluster.status()["partitions"]]

    assert cluster.run("scale", "1", "9", "--for", "5m").code == Exit.OK
    wait_until(lambda: workers() == [4, 9], message="partition 1 has 9 workers")

    assert cluster.run("scale", "1", "4", "--for", "5m").code == Exit.OK
    wait_until(lambda: workers() == [4, 4], message="partition 1 has 4 workers again")
    refused = cluster.run("scale", "1", "2400")
    assert refused.code == Exit.USAGE
    assert "above the maximum of 32" in refused.err
    assert "COORDINATOR_MAX_WORKERS" in refused.err
    assert cluster.run("scale", "1", "--auto").code == Exit.OK
    wait_until(
        lambda: not any(p["manual_until_ms"] for p in cluster.status()["partitions"]), 20
    )  # the coordinator tells what its last cycle saw


def test_a_partition_that_is_not_there_is_a_usage_error(cluster: LocalUp) -> None:
    done = cluster.run("scale", "9", "3")

    assert done.code == Exit.USAGE
    assert "no partition 9" in done.err


def test_dead_jobs_make_bulk_fail_and_can_be_replayed(cluster: LocalUp) -> None:
    file = rows(cluster.directory, 40)

    done = cluster.run("bulk", file, "--task", "fussy", "--key", "fussy-1", "--wait")
    assert done.code == Exit.DIED
    assert "20 jobs died, such as PermanentError: odd" in done.err

    listed = cluster.run("dead", "list", "--key", "fussy-1", "--json").out.splitlines()
    assert len(listed) == 20
    (cluster.directory / "fixed").touch()
    assert cluster.run("dead", "replay", "--key", "fussy-1").code == Exit.OK
    assert cluster.run("group", "wait", "fussy-1", "--timeout", "90s").code == Exit.OK


def test_a_second_up_in_the_same_directory_is_refused(cluster: LocalUp) -> None:
    done = cluster.run("up", "--app", "app")

    assert done.code == Exit.FAILED
    assert f"(process {cluster.process.pid})" in done.err
    assert cluster.process.poll() is None


def test_a_consumer_that_is_killed_comes_back_and_no_job_is_lost(cluster: LocalUp) -> None:
    file = rows(cluster.directory, 300, "killed.csv")
    assert cluster.run("bulk", file, "--task", "slow", "--key", "killed").code == Exit.OK
    owners: list[str] = []

    def found() -> bool:
        owners[:] = [p["owner"] for p in cluster.status()["partitions"] if p["busy"]]
        return bool(owners)

    wait_until(found, message="the consumer works")
    os.kill(int(owners[0].rpartition(":")[2]), signal.SIGKILL)

    assert cluster.run("group", "wait", "killed", "--timeout", "120s").code == Exit.OK
    ran = (cluster.directory / "slow.txt").read_text().split()
    assert set(ran) == {str(n) for n in range(300)}
    assert "was killed by SIGKILL; restarting in" in cluster.shown


def test_a_coordinator_whose_port_was_taken_meanwhile_is_found_at_another(
    cluster: LocalUp,
) -> None:
    was = cluster.state.grpc_address

    with closing(occupy(cluster)):
        wait_until(lambda: cluster.state.grpc_address != was, message="it came back elsewhere")
        there = f"coordinator {cluster.state.grpc_address}"
        wait_until(lambda: cluster.status()["source"] == there, message="and commands find it")


def test_check_and_audit_find_the_cluster_sound(cluster: LocalUp) -> None:
    assert cluster.run("check").code == Exit.OK
    wait_until(lambda: cluster.status()["totals"]["in_flight"] == 0)
    assert cluster.run("audit").code == Exit.OK


# -- starting and stopping ---------------------------------------------------------------------


def test_jobs_outlive_the_cluster_and_a_drain_runs_nothing_twice(directory: Path) -> None:
    file = rows(directory, 120)
    with up(directory, "--app", "app", "--partitions", "2", "--base-workers", "1") as cluster:
        assert cluster.run("bulk", file, "--task", "slow", "--key", "k").code == Exit.OK
        wait_until((directory / "slow.txt").exists)
        assert cluster.stop() == Exit.OK, cluster.shown
        assert "draining" in cluster.shown
        assert "killed" not in cluster.shown
        assert not (directory / ".queuepool" / "cluster.json").exists()
    some = (directory / "slow.txt").read_text().split()
    assert 0 < len(some) < 120

    with up(directory, "--app", "app", "--partitions", "2", "--base-workers", "16") as cluster:
        assert cluster.run("group", "wait", "k", "--timeout", "90s").code == Exit.OK

    ran = (directory / "slow.txt").read_text().split()
    assert sorted(ran, key=int) == [str(n) for n in range(120)]


def test_another_partition_count_over_the_same_data_is_refused(directory: Path) -> None:
    file = rows(directory, 5)
    with up(directory, "--app", "app", "--partitions", "4", "--base-workers", "1") as cluster:
        assert cluster.run("bulk", file, "--task", "note", "--key", "a").code == Exit.OK

    for count in ("1", "8"):
        done = run(directory, "up", "--app", "app", "--partitions", count)

        assert done.code == Exit.USAGE
        (line,) = (line for line in done.err.splitlines() if "configured" in line)
        assert f"{count} partitions are configured here" in line
        assert "has 4: " in line


def test_killing_up_takes_every_child_along_and_the_directory_is_free_again(
    directory: Path,
) -> None:
    with up(directory, "--app", "app", "--partitions", "2") as cluster:
        children = cluster.children()
        assert len(children) == 4
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in children]
        assert sum(b"--forks" in line and b"consumer" in line for line in lines) == 2

        cluster.stop(signal.SIGKILL)

        wait_until(lambda: all(map(process_is_gone, children)), 60, "every child has ended")
    with up(directory, "--app", "app", "--partitions", "2"):
        pass


def test_a_module_that_is_not_there_ends_up_with_the_reason(directory: Path) -> None:
    done = run(directory, "up", "--app", "missing", "--partitions", "2")

    assert done.code == Exit.USAGE
    assert "there is no such module in" in done.err
    assert "Traceback" not in done.err


def test_a_file_of_the_user_named_like_a_process_changes_nothing(directory: Path) -> None:
    (directory / "consumer.py").write_text("raise SystemExit('the wrong one')")
    (directory / "coordinator").mkdir()
    (directory / "coordinator" / "__init__.py").touch()

    with up(directory, "--app", "app", "--partitions", "1") as cluster:
        file = rows(directory, 5)
        done = cluster.run("bulk", file, "--task", "note", "--key", "k", "--wait")
        assert done.code == Exit.OK, done.err


def test_a_given_server_is_used_and_left_running(directory: Path) -> None:
    with EmbeddedServer() as server:
        with up(directory, "--app", "app", "--partitions", "1", "--url", server.url) as cluster:
            assert dict(cluster.state.servers) == {"main": server.url}
            file = rows(directory, 5)
            assert cluster.run("bulk", file, "--task", "note", "--key", "k", "--wait").code == 0
            assert cluster.stop() == Exit.OK
        assert server.pid > 0
        assert not (directory / ".queuepool" / "data").exists()


def test_partitions_on_two_servers_are_one_cluster(directory: Path) -> None:
    with EmbeddedServer() as one, EmbeddedServer() as two:
        servers = json.dumps({"one": one.url, "two": two.url})
        with up(
            directory,
            *("--app", "app", "--partitions", "2"),
            QUEUEPOOL_SERVERS=servers,
            QUEUEPOOL_PLACEMENT="0=one,1=two",
        ) as cluster:
            del cluster.environment["QUEUEPOOL_SERVERS"], cluster.environment["QUEUEPOOL_PLACEMENT"]
            file = rows(directory, 5)
            keys = {partition_of(slot_of(key.encode()), 2): key for key in map(str, range(20))}
            for key in keys.values():
                done = cluster.run("bulk", file, "--task", "note", "--key", key, "--wait", "--json")
                assert (done.code, done.last["done"]) == (Exit.OK, 5)
        for number, server in enumerate((one, two)):
            with QueuePool(server.url, partitions=2) as pool:
                done_here = [p.observe().counters.get("done", 0) for p in pool.partitions()]
            assert done_here[number] > 0, (number, done_here)
            assert done_here[1 - number] == 0, (number, done_here)


def test_a_server_that_would_lose_jobs_is_refused(directory: Path) -> None:
    with EmbeddedServer(extra_args=("--maxmemory-policy", "allkeys-lru")) as server:
        done = run(directory, "up", "--app", "app", "--url", server.url)

    assert done.code == Exit.FAILED
    assert "maxmemory-policy noeviction" in done.err


def test_a_second_signal_stops_hard(directory: Path) -> None:
    (directory / "one.jsonl").write_text('{"n": "1", "ms": "600000"}\n')
    with up(directory, "--app", "app", "--partitions", "1") as cluster:
        assert cluster.run("bulk", "one.jsonl", "--task", "slow", "--key", "k").code == Exit.OK
        wait_until(lambda: cluster.status()["totals"]["busy"] == 1)
        cluster.process.send_signal(signal.SIGINT)
        wait_until(lambda: "draining" in cluster.shown)

        assert cluster.stop(signal.SIGINT, timeout_s=60) == Exit.INTERRUPTED

    assert "killed: consumer-0; their running jobs will run again" in cluster.shown


def test_a_consumer_alone_finds_the_cluster_too(directory: Path) -> None:
    done = run(directory, "consumer", "--app", "app", "--partition", "0")

    assert done.code == Exit.USAGE
    assert "QUEUEPOOL_URL" in done.err
