"""A server that stalls, restarts, forgets its scripts or drops connections: callers do not notice.

Every test runs on a server of its own, for the sync and the asyncio pool.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import EnqueueStatus, QueuePool, UnavailableError
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.process.embedded import EmbeddedServer
from queuepool.verbs.operator import verbs as operate
from tests.chaos.proxy import TO_CLIENT, Proxy
from tests.contract import world as w
from tests.integration.client.conftest import MakePool, run_all
from tests.paths import ROOT
from tests.waiting import wait_until

ServerFactory = Callable[..., EmbeddedServer]
MakePartition = Callable[..., Partition]
SHORT_S = 0.3  # timeout of one call


@pytest.fixture
def server(server_factory: ServerFactory, tmp_path: Path) -> EmbeddedServer:
    return server_factory(tmp_path / "data", extra_args=("--appendfsync", "always"))


@pytest.fixture
def admin(server: EmbeddedServer) -> Iterator[Any]:
    with redis.Redis.from_url(server.url) as client:
        yield client


@pytest.fixture
def pool(make_pool: MakePool, server: EmbeddedServer) -> Any:
    return make_pool(server.url, timeout_s=SHORT_S, retry_for_s=20.0)


@pytest.fixture
def partition(make_partition: MakePartition, server: EmbeddedServer) -> Partition:
    return make_partition(server.url)


@contextmanager
def meanwhile(action: Callable[[], object]) -> Iterator[None]:
    """Run an action in a thread beside the block; it must have ended soon after."""
    thread = threading.Thread(target=action)
    thread.start()
    try:
        yield
    finally:
        thread.join(timeout=30)
        assert not thread.is_alive()


@contextmanager
def stalled(server: EmbeddedServer, seconds: float) -> Iterator[None]:
    """Stop the server's process for a time that begins now."""
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGCONT))
    timer.start()
    try:
        yield
    finally:
        timer.join()


def rows(n: int) -> list[dict[str, int]]:
    return [{"i": i} for i in range(n)]


def in_order(results: Any) -> list[str]:
    return [r.job_id for r in results]


def test_a_stalled_server_gets_no_job_twice(
    pool: Any, partition: Partition, server: EmbeddedServer
) -> None:
    pool.enqueue("t", partition_key="k", job_id="first")

    with stalled(server, 3 * SHORT_S):
        single = pool.enqueue("t", partition_key="k")
    with stalled(server, 3 * SHORT_S):
        bulk = pool.enqueue_many("t", rows(1_900), partition_key="k")

    assert single.status is EnqueueStatus.ACCEPTED
    assert bulk.accepted == 1_900
    assert run_all(partition) == ["first", single.job_id, *in_order(bulk)]
    assert pool.group("k").status().total == 1_902


def test_a_server_that_pauses_writes_gets_no_job_twice(
    pool: Any, partition: Partition, admin: Any
) -> None:
    pool.enqueue("t", partition_key="k", job_id="first")
    admin.execute_command("CLIENT", "PAUSE", int(3000 * SHORT_S), "WRITE")

    bulk = pool.enqueue_many("t", rows(1_900), partition_key="k")

    assert run_all(partition) == ["first", *in_order(bulk)]


@pytest.mark.parametrize("at", [0, 3_000, 9_900])
def test_a_server_that_crashes_amid_a_bulk_call_has_every_job_once(
    pool: Any, partition: Partition, server: EmbeddedServer, at: int
) -> None:
    def items() -> Iterator[dict[str, int]]:
        for row in rows(10_000):
            if row["i"] == at:
                server.kill()
                thread = threading.Thread(target=server.start)
                thread.start()
                threads.append(thread)
            yield row

    threads: list[threading.Thread] = []
    bulk = pool.enqueue_many("t", items(), partition_key="k")
    threads[0].join(timeout=30)

    assert bulk.accepted == len(bulk) == 10_000
    assert pool.group("k").status().total == 10_000
    assert run_all(partition) == in_order(bulk)
    assert partition.audit().clean


def test_a_server_that_stays_away_is_reported_with_the_ids(
    make_pool: MakePool, make_partition: MakePartition, server: EmbeddedServer
) -> None:
    pool = make_pool(server.url, retry_for_s=0.2)

    def items() -> Iterator[dict[str, int]]:
        yield from rows(3_000)
        server.kill()
        yield from rows(3_000)

    with pytest.raises(UnavailableError, match="same ids") as caught:
        pool.enqueue_many("t", items(), partition_key="k")
    with pytest.raises(UnavailableError):
        pool.status("a", partition_key="k")
    server.start()

    results = caught.value.results
    accepted = [r.job_id for r in results if r.status is EnqueueStatus.ACCEPTED]
    unknown = [r.job_id for r in results if r.status is EnqueueStatus.UNKNOWN]
    there = run_all(make_partition(server.url))
    assert there == in_order(results)[: len(there)]
    assert set(accepted) <= set(there) <= {*accepted, *unknown}
    assert accepted


def test_scripts_that_the_server_forgot_are_loaded_again(
    pool: Any, partition: Partition, admin: Any
) -> None:
    pool.enqueue("t", partition_key="k", job_id="first")

    def items() -> Iterator[dict[str, int]]:
        for row in rows(2_000):
            if row["i"] in (500, 1_500):
                admin.script_flush()
            yield row

    admin.script_flush()
    second = pool.enqueue("t", partition_key="k")
    bulk = pool.enqueue_many("t", items(), partition_key="k")
    admin.script_flush()

    assert pool.status("first", partition_key="k").state == "ready"
    assert bulk.accepted == 2_000
    assert run_all(partition) == ["first", second.job_id, *in_order(bulk)]


def test_many_calls_in_one_round_trip_load_what_is_missing(
    partition: Partition, admin: Any
) -> None:
    w_key = partition.key
    admin.script_flush()

    replies = partition.server.run_many([(w_key, operate.observe(0))] * 3)

    assert [operate.observe(0).read(reply).jobs for reply in replies] == [0, 0, 0]


def kill_connections(admin: Any) -> None:
    """Close every connection to the server but this one."""
    admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def test_a_connection_that_the_server_closed_is_nobodys_concern(
    pool: Any, partition: Partition, admin: Any
) -> None:
    job = pool.enqueue("t", partition_key="k")
    calls: list[Callable[[], bool]] = [
        lambda: pool.enqueue("t", partition_key="k").status is EnqueueStatus.ACCEPTED,
        lambda: pool.status(job.job_id, partition_key="k").state == "ready",
        lambda: pool.group("k").status().total > 0,
        lambda: pool.enqueue_many("t", rows(300), partition_key="k").rejected == 0,
        lambda: pool.cancel(job.job_id, partition_key="k") == "ready",
    ]

    for call in calls:
        for _ in range(3):  # at once after the last use, when connections are not tested
            pool.status(job.job_id, partition_key="k")
            kill_connections(admin)
            if call is not calls[-1]:
                assert call()
    kill_connections(admin)
    assert calls[-1]()


def test_connections_killed_amid_a_bulk_call_cost_nothing(
    pool: Any, partition: Partition, admin: Any
) -> None:
    def items() -> Iterator[dict[str, int]]:
        for row in rows(6_000):
            if row["i"] % 1_000 == 999:
                kill_connections(admin)
            yield row

    bulk = pool.enqueue_many("t", items(), partition_key="k")

    assert bulk.accepted == 6_000
    assert run_all(partition) == in_order(bulk)


# -- out of memory ---------------------------------------------------------------------------------


def test_a_server_without_memory_does_not_deny_an_attempt_whose_reply_was_lost(
    make_pool: MakePool, server: EmbeddedServer, admin: Any
) -> None:
    with Proxy(server.port) as proxy:

        def fill() -> None:
            wait_until(lambda: admin.dbsize() > keys)
            admin.config_set("maxmemory", "1mb")
            proxy.reset()

        pool = make_pool(proxy.url, timeout_s=5.0, retry_for_s=1.0)
        pool.enqueue("t", {}, partition_key="before")
        keys = admin.dbsize()
        proxy.one_way(TO_CLIENT)
        with (
            meanwhile(fill),
            pytest.raises(UnavailableError, match="written by this attempt") as caught,
        ):
            pool.enqueue("t", {}, partition_key="k")

        assert [r.status for r in caught.value.results] == [EnqueueStatus.UNKNOWN]
        assert pool.group("k").status().total == 1


def test_what_the_password_keeps_out_is_not_stored(
    make_pool: MakePool, server: EmbeddedServer
) -> None:
    pool = make_pool(f"redis://x:wrong@127.0.0.1:{server.port}/0", retry_for_s=0.1)

    with pytest.raises(UnavailableError, match="rejects the password") as caught:
        pool.enqueue("t", {}, partition_key="k")

    assert [r.status for r in caught.value.results] == [EnqueueStatus.REJECTED]


def test_without_memory_producers_hear_why_and_work_goes_on(
    make_pool: MakePool, make_partition: MakePartition, server_factory: ServerFactory
) -> None:
    server = server_factory(maxmemory=6 * 1024**2)
    pool = make_pool(server.url, retry_for_s=0.2)
    partition = make_partition(server.url)
    job = {"x": "x" * 2_000}

    with pytest.raises(UnavailableError, match="out of memory") as caught:
        pool.enqueue_many("t", [job] * 20_000, partition_key="k")

    results = caught.value.results
    assert (results.unknown, results.accepted > 0, results.rejected > 0) == (0, True, True)
    accepted = {r.job_id for r in results if r.status is EnqueueStatus.ACCEPTED}

    def fill() -> None:
        for _ in range(1_000):
            accepted.add(pool.enqueue("t", {"x": "x" * 50_000}, partition_key="k").job_id)

    with pytest.raises(UnavailableError, match="out of memory") as caught:
        fill()
    assert [r.status for r in caught.value.results] == [EnqueueStatus.REJECTED]
    assert set(run_all(partition)) == accepted
    assert pool.enqueue("t", job, partition_key="k").status is EnqueueStatus.ACCEPTED


# -- connections, threads, processes ---------------------------------------------------------------


def clients(admin: Any) -> int:
    """Return how many connections the server has beside this one."""
    return len(admin.client_list()) - 1


def sockets() -> set[str]:
    """Return the sockets that this process has open."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(str(entry.readlink()))
        except FileNotFoundError:
            continue
    return {name for name in found if name.startswith("socket:")}


def test_a_bulk_call_over_many_partitions_needs_few_connections(
    make_pool: MakePool, server: EmbeddedServer, admin: Any
) -> None:
    pool = make_pool(server.url, partitions=64)
    most = 0

    def items() -> Iterator[dict[str, int]]:
        nonlocal most
        for row in rows(40_000):
            if row["i"] % 5_000 == 0:
                most = max(most, clients(admin))
            yield row

    results = pool.enqueue_many("t", items(), partition_key=lambda row: f"k{row['i'] % 997}")

    assert results.accepted == 40_000
    assert max(most, clients(admin)) <= 6


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts sockets in /proc")
def test_closing_gives_everything_back(
    make_pool: MakePool, server: EmbeddedServer, admin: Any
) -> None:
    admin.ping()
    sockets_before, threads_before = sockets(), threading.active_count()
    for _ in range(3):
        pool = make_pool(server.url, partitions=8)
        pool.enqueue("t", partition_key="k")
        pool.enqueue_many("t", rows(3_000), partition_key=lambda row: f"k{row['i']}")
        pool.close()
        pool.close()

    wait_until(lambda: clients(admin) == 0)
    assert sockets() <= sockets_before  # those of earlier tests may have gone meanwhile
    assert threading.active_count() <= threads_before


def test_threads_share_a_pool(server: EmbeddedServer, admin: Any) -> None:
    with QueuePool(server.url, partitions=4) as pool:
        found: list[list[str]] = [[] for _ in range(8)]

        def work(n: int) -> None:
            for i in range(5):
                bulk = pool.enqueue_many("t", rows(450), partition_key=f"thread-{n}")
                found[n] += in_order(bulk)
                found[n].append(pool.enqueue("t", {"i": i}, partition_key=f"thread-{n}").job_id)
                assert pool.group(f"thread-{n}").status().total == len(found[n])

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)

        assert clients(admin) <= 16
        assert [len(ids) for ids in found] == [5 * 451] * 8
        assert all(report.clean for report in (p.audit() for p in pool.partitions()))
        order = {job_id: n for p in pool.partitions() for n, job_id in enumerate(run_all(p))}
    assert len(order) == 8 * 5 * 451
    assert all(places == sorted(places) for places in ([order[i] for i in ids] for ids in found))


def test_more_threads_than_connections_wait_their_turn(server: EmbeddedServer) -> None:
    with QueuePool(server.url, partitions=1) as pool:
        barrier = threading.Barrier(100)
        failures: list[BaseException] = []

        def work() -> None:
            barrier.wait(30)
            try:
                for _ in range(3):
                    pool.enqueue("t", partition_key="k")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)

        assert failures == []
        assert pool.group("k").status().total == 300
        assert pool.enqueue_many("t", rows(500), partition_key="k").accepted == 500


FORK = """
import os, sys, threading
from queuepool import QueuePool
pool = QueuePool(sys.argv[1], partitions=1)
for n in range(50):
    pool.enqueue("t", {"by": "parent"}, partition_key="k", job_id=f"before-{n}")
child = os.fork()
who = "parent" if child else "child"
for n in range(200):
    assert pool.enqueue("t", {}, partition_key="k", job_id=f"{who}-{n}").status == "accepted"
    assert pool.status(f"{who}-{n}", partition_key="k").job_id == f"{who}-{n}"
if not child:
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_of_a_fork_does_not_share_its_parents_connections(server: EmbeddedServer) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", FORK, server.url],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )

    assert (done.returncode, done.stderr) == (0, "")
    with QueuePool(server.url, partitions=1) as pool:
        assert pool.group("k").status().total == 450


# -- passwords -------------------------------------------------------------------------------------


def test_a_wrong_password_is_told_without_telling_it(
    make_pool: MakePool, server_factory: ServerFactory
) -> None:
    server = server_factory(extra_args=("--requirepass", "the/right:one"))
    wrong = server.url.replace("redis://", "redis://:hunter2-CANARY@")
    right = server.url.replace("redis://", "redis://:the%2Fright%3Aone@")

    for url in (wrong, server.url):
        pool = make_pool(url, retry_for_s=0.0)
        with pytest.raises(UnavailableError, match="QUEUEPOOL_URL") as caught:
            pool.enqueue("t", partition_key="k")
        assert "CANARY" not in str(caught.value)
    pool = make_pool(right)
    assert pool.enqueue("t", partition_key="k").status is EnqueueStatus.ACCEPTED


def test_work_goes_on_while_a_producer_waits_for_a_stalled_server(
    pool: Any, partition: Partition, server: EmbeddedServer
) -> None:
    pool.enqueue_many("t", rows(400), partition_key="k")
    owned = partition.acquire(lease_s=60)
    assert isinstance(owned, OwnedPartition)
    first = w.claim(owned, 200)

    with stalled(server, 2 * SHORT_S):
        pool.enqueue_many("t", rows(400), partition_key="k")

    assert w.finish(owned, first).finished == 200
    assert len(w.drain(owned)) == 600
    assert partition.audit().clean
