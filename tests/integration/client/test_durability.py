"""What an acknowledged enqueue has survived: real primaries and replicas, sync and asyncio."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import (
    EnqueueStatus,
    Job,
    NotConfirmedError,
    PoolConfig,
    QueuePool,
    UnconfirmableError,
)
from queuepool.models import Durability
from queuepool.partitions.partition import Partition
from queuepool.process.embedded import EmbeddedServer, find_server_binary
from queuepool.routing.topology import single
from tests.integration.client.conftest import MakePool, run_all
from tests.integration.servers.clusters import ARGUMENTS, LocalCluster, local_cluster
from tests.replicas import PROMPT, frozen, replica_arguments, wait_until_replicating
from tests.waiting import wait_until

ServerFactory = Callable[..., EmbeddedServer]
MakePartition = Callable[..., Partition]
LONG_S, BRIEF_S = 20.0, 1.0  # timeouts; a server waits for 0.6 of it


@pytest.fixture(scope="module")
def pair(engine_binary: Path) -> Iterator[tuple[EmbeddedServer, EmbeddedServer]]:
    """A primary and a replica of each engine; each test has a stage of its own on them."""
    with EmbeddedServer(binary=engine_binary, extra_args=PROMPT) as primary:
        arguments = replica_arguments(primary.port)
        with EmbeddedServer(binary=engine_binary, extra_args=arguments) as replica:
            wait_until_replicating(primary)
            yield primary, replica


@pytest.fixture
def primary(pair: tuple[EmbeddedServer, EmbeddedServer]) -> EmbeddedServer:
    return pair[0]


@pytest.fixture
def replica(pair: tuple[EmbeddedServer, EmbeddedServer]) -> EmbeddedServer:
    return pair[1]


@pytest.fixture
def pool(make_pool: MakePool, primary: EmbeddedServer, replica: EmbeddedServer) -> Any:
    """Waits for a replica that stands still for a while."""
    return make_pool(primary.url, timeout_s=LONG_S, retry_for_s=LONG_S, durability="replicated")


@pytest.fixture
def brief(make_pool: MakePool, primary: EmbeddedServer, replica: EmbeddedServer) -> Any:
    """Soon gives up waiting for a replica."""
    return make_pool(primary.url, timeout_s=BRIEF_S, retry_for_s=5.0, durability="replicated")


@pytest.fixture
def there(replica: EmbeddedServer, stage: str) -> Iterator[Callable[[], int]]:
    """How many jobs the replica has, asked without waiting."""
    with redis.Redis.from_url(replica.url) as client:
        yield lambda: int(client.hlen(f"/{stage}/queue/{{partition_0}}/main:j"))


def rows(n: int) -> list[dict[str, int]]:
    return [{"i": i} for i in range(n)]


def test_a_replicated_job_is_on_the_replica_when_it_is_acknowledged(
    pool: Any, there: Callable[[], int]
) -> None:
    for n in range(1, 101):
        job = pool.enqueue("t", partition_key="k")

        assert job.status is EnqueueStatus.ACCEPTED
        assert there() == n


def test_many_replicated_jobs_are_there_and_in_order(
    pool: Any, there: Callable[[], int], make_partition: MakePartition, primary: EmbeddedServer
) -> None:
    results = pool.enqueue_many("t", rows(15_000), partition_key="k")

    assert results.accepted == len(results) == there() == 15_000
    assert run_all(make_partition(primary.url)) == [result.job_id for result in results]


def test_without_its_replica_a_job_is_stored_and_not_confirmed(
    pool: Any, brief: Any, replica: EmbeddedServer, there: Callable[[], int]
) -> None:
    with frozen(replica):
        with pytest.raises(NotConfirmedError, match="0 of 1 replicas have it") as caught:
            brief.enqueue("t", partition_key="k", job_id="mine")
        (result,) = caught.value.results
        assert (result.job_id, result.status) == ("mine", EnqueueStatus.UNKNOWN)
        assert pool.status("mine", partition_key="k").state == "ready"

        fast = pool.enqueue("t", partition_key="k", durability="fast")
        assert fast.status is EnqueueStatus.ACCEPTED

    again = pool.enqueue("t", partition_key="k", job_id="mine")
    assert again.status is EnqueueStatus.DUPLICATE
    assert there() == 2


def test_a_duplicate_is_confirmed_whichever_connection_stored_it(
    pool: Any, replica: EmbeddedServer, primary: EmbeddedServer, make_pool: MakePool
) -> None:
    fresh = make_pool(primary.url, timeout_s=BRIEF_S, retry_for_s=0.0)
    with frozen(replica):
        pool.enqueue("t", partition_key="k", job_id="a", durability="fast")
        with pytest.raises(NotConfirmedError):
            fresh.enqueue("t", partition_key="k", job_id="a", durability="replicated")


def test_a_confirmation_is_asked_again_behind_a_script_that_was_forgotten(
    brief: Any, replica: EmbeddedServer, primary: EmbeddedServer
) -> None:
    brief.enqueue("t", partition_key="k", durability="fast")
    with frozen(replica), redis.Redis.from_url(primary.url) as client:
        client.script_flush()
        with pytest.raises(NotConfirmedError):
            brief.enqueue("t", partition_key="k")
        client.script_flush()
        with pytest.raises(NotConfirmedError):
            brief.enqueue_many("t", rows(500), partition_key="k")


def test_a_bulk_call_that_is_not_confirmed_tells_of_every_job(
    pool: Any, brief: Any, replica: EmbeddedServer, there: Callable[[], int]
) -> None:
    jobs = [Job({"i": i}, job_id=f"job-{i}") for i in range(9_000)]
    pool.enqueue_many("t", jobs[:1_000], partition_key="k")
    with frozen(replica), pytest.raises(NotConfirmedError) as caught:
        brief.enqueue_many("t", jobs, partition_key="k")

    told = caught.value.results
    assert (told.accepted, told.duplicates) == (0, 0)
    assert told.unknown == 6_400  # one batch; what was not sent is not in
    assert [told[i].job_id for i in range(6_400)] == [job.job_id for job in jobs[:6_400]]
    again = pool.enqueue_many("t", jobs, partition_key="k")
    assert (again.accepted, again.duplicates) == (2_600, 6_400)
    assert there() == 9_000


def test_a_primary_that_is_demoted_meanwhile_is_asked_again(
    make_pool: MakePool, replica: EmbeddedServer, primary: EmbeddedServer, there: Callable[[], int]
) -> None:
    pool = make_pool(primary.url, timeout_s=20.0, retry_for_s=20.0, durability="replicated")

    with redis.Redis.from_url(primary.url) as client:

        def demote() -> None:
            with frozen(replica):
                begun.set()
                waits = "a call that waits for the replica"
                wait_until(lambda: client.info("clients")["blocked_clients"] == 1, 30.0, waits)
                client.replicaof("127.0.0.1", 1)
                client.replicaof("NO", "ONE")

        begun, thread = threading.Event(), threading.Thread(target=demote)
        thread.start()
        try:
            assert begun.wait(60)
            job = pool.enqueue("t", partition_key="k")
            assert there() == 1
        finally:
            thread.join(timeout=30)

        # The first try stored it, and its confirmation ended with the demotion.
        assert job.status is EnqueueStatus.ACCEPTED


def test_on_a_cluster_each_node_answers_for_its_own_jobs(
    tmp_path: Path, server_factory: ServerFactory
) -> None:
    with (
        local_cluster(find_server_binary(), tmp_path, nodes=3) as cluster,
        QueuePool(config=_on(cluster, timeout_s=20.0)) as pool,
        QueuePool(config=_on(cluster, timeout_s=1.0)) as brief,
    ):
        base_of, route = pool.config.keyspace.partition, pool.producer.route
        found = map(str, range(100))
        keys = {cluster.place_of(base_of(route(key).partition)): key for key in found}
        (followed, key), (_alone, other), *_ = keys.items()
        _follow(cluster, followed, server_factory(tmp_path / "replica", extra_args=ARGUMENTS))
        marker = base_of(route(key).partition) + b":replicating"
        wait_until_replicating(cluster.nodes[followed], marker)

        assert pool.enqueue("t", partition_key=key).status is EnqueueStatus.ACCEPTED
        assert pool.enqueue_many("t", rows(1_000), partition_key=key).accepted == 1_000
        with pytest.raises(NotConfirmedError):
            brief.enqueue("t", partition_key=other)


def _on(cluster: LocalCluster, timeout_s: float) -> PoolConfig:
    return PoolConfig(
        topology=single(cluster.url, 8), timeout_s=timeout_s, durability=Durability.REPLICATED
    )


def _follow(cluster: LocalCluster, place: int, server: EmbeddedServer) -> None:
    """Make a server a replica of one node; returns when that says so."""
    name = cluster.clients[place].execute_command("CLUSTER", "MYID")
    with redis.Redis.from_url(server.url) as client:
        client.execute_command("CLUSTER", "MEET", "127.0.0.1", cluster.nodes[place].port)

        def follows() -> bool:
            try:
                client.execute_command("CLUSTER", "REPLICATE", name)
            except redis.ResponseError:  # it does not know that node yet
                return False
            return True

        wait_until(follows, 20.0, "a node that follows another")


# -- fsynced ---------------------------------------------------------------------------------------


@pytest.fixture
def prompt(server_factory: ServerFactory, engine_binary: Path, tmp_path: Path) -> EmbeddedServer:
    """A server that fsyncs every write before it answers."""
    always = ("--appendfsync", "always")
    return server_factory(tmp_path / "data", binary=engine_binary, extra_args=always)


def test_a_fsynced_job_is_acknowledged_where_every_write_is_fsynced(
    make_pool: MakePool, prompt: EmbeddedServer
) -> None:
    pool = make_pool(prompt.url, durability="fsynced")

    assert pool.enqueue("t", partition_key="k").status is EnqueueStatus.ACCEPTED
    assert pool.enqueue_many("t", rows(20_000), partition_key="k").accepted == 20_000


@pytest.mark.parametrize(
    ("setting", "value"),
    [("appendfsync", "everysec"), ("appendfsync", "no"), ("no-appendfsync-on-rewrite", "yes")],
)
def test_a_server_that_answers_before_it_fsyncs_cannot_confirm(
    make_pool: MakePool, prompt: EmbeddedServer, setting: str, value: str
) -> None:
    pool = make_pool(prompt.url, timeout_s=BRIEF_S, durability="fsynced")
    with redis.Redis.from_url(prompt.url) as client:
        client.config_set(setting, value)

    with pytest.raises(UnconfirmableError, match=f"{setting} {value}") as caught:
        pool.enqueue("t", partition_key="k")

    assert caught.value.results.unknown == 1


def test_a_server_without_a_file_cannot_confirm_and_says_what_to_set(
    make_pool: MakePool, primary: EmbeddedServer
) -> None:
    pool = make_pool(primary.url, durability="fsynced")

    with pytest.raises(UnconfirmableError, match="appendonly no") as caught:
        pool.enqueue("t", partition_key="k")
    assert caught.value.results.unknown == 1
    with pytest.raises(UnconfirmableError, match="Set `appendonly yes`") as caught:
        pool.enqueue_many("t", rows(300), partition_key="k")
    assert caught.value.results.unknown == 300


def test_replicas_that_have_not_fsynced_it_are_waited_for(
    make_pool: MakePool, prompt: EmbeddedServer
) -> None:
    pool = make_pool(prompt.url, timeout_s=0.3, durability="fsynced", confirm_replicas=1)
    expected: type[Exception] = NotConfirmedError
    with redis.Redis.from_url(prompt.url) as client:
        try:
            client.execute_command("WAITAOF", 0, 0, 1)
        except redis.ResponseError:  # Redis before 7.2 does not know it
            expected = UnconfirmableError

    with pytest.raises(expected):
        pool.enqueue("t", partition_key="k")


def test_settings_that_may_not_be_read_cannot_confirm(
    make_pool: MakePool, prompt: EmbeddedServer
) -> None:
    with redis.Redis.from_url(prompt.url) as client:
        client.execute_command("ACL", "SETUSER", "default", "-config")
    pool = make_pool(prompt.url, durability="fsynced")

    with pytest.raises(UnconfirmableError, match=r"CONFIG is refused.*\+config\|get"):
        pool.enqueue("t", partition_key="k")


def test_a_refused_confirmation_names_the_right_that_is_missing(
    redis_url: str, engine_binary: Path, server_factory: ServerFactory
) -> None:
    server = server_factory(binary=engine_binary)
    with redis.Redis.from_url(server.url) as client:
        client.execute_command("ACL", "SETUSER", "default", "-wait")
    with (
        QueuePool(server.url, durability="replicated") as pool,
        pytest.raises(UnconfirmableError, match=r"docs/security\.md"),
    ):
        pool.enqueue("t", partition_key="k")
