"""Jobs are found, awaited and cancelled by their id alone, on a real server, sync and asyncio."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queuepool import InvalidInputError, JobState, UnavailableError, WaitTimeoutError
from queuepool.partitions.partition import OwnedPartition
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol import ids
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.integration.client.conftest import MakePool
from tests.integration.client.test_pool import MakePartition

PARTITIONS = 5
KEYS = [f"import-{n}" for n in range(12)]  # they reach every partition


@pytest.fixture
def pool(make_pool: MakePool, redis_url: str) -> Any:
    return make_pool(redis_url, PARTITIONS)


def test_an_id_of_the_library_is_enough(pool: Any) -> None:
    jobs = {key: pool.enqueue("t", {}, partition_key=key) for key in KEYS}
    assert {job.partition for job in jobs.values()} == set(range(PARTITIONS))

    for key, job in jobs.items():
        found = pool.status(job.job_id)
        assert (found.state, found.group, found.partition) == (
            JobState.READY, key.encode(), job.partition,
        )  # fmt: skip
        assert pool.cancel(job.job_id) is JobState.READY
        assert pool.status(job.job_id).state is JobState.CANCELLED


def test_ids_of_a_bulk_call_are_enough(pool: Any) -> None:
    results = pool.enqueue_many("t", [{"k": k} for k in KEYS], partition_key=lambda p: p["k"])

    for key, job in zip(KEYS, results, strict=True):
        assert pool.status(job.job_id).group == key.encode()


@pytest.mark.parametrize("own_id", ["order-7", "looks.like_one"])
@pytest.mark.parametrize("key", KEYS[:5])
def test_an_id_of_ones_own_is_looked_for_everywhere(pool: Any, own_id: str, key: str) -> None:
    pool.enqueue("t", {}, partition_key=key, job_id=own_id)

    assert pool.status(own_id).group == key.encode()
    assert pool.cancel(own_id) is JobState.READY
    assert pool.status(own_id, partition_key=key).state is JobState.CANCELLED


@pytest.mark.parametrize("own_id", ["never-seen", "looks.like.two"])
def test_an_id_that_nobody_has_is_unknown(pool: Any, own_id: str) -> None:
    assert pool.status(own_id).state is JobState.UNKNOWN
    assert pool.cancel(own_id) is JobState.UNKNOWN


def test_an_id_that_two_partitions_have_is_not_guessed(pool: Any) -> None:
    own_id = "looks.like_one"
    slot = ids.hinted_slot(own_id)
    assert slot is not None
    hinted = slot % PARTITIONS
    by_partition = {pool.enqueue("t", {}, partition_key=k).partition: k for k in KEYS}
    elsewhere = by_partition[(hinted + 1) % PARTITIONS]
    for key in (by_partition[hinted], elsewhere):
        pool.enqueue("t", {}, partition_key=key, job_id=own_id)

    for ask in (pool.status, pool.cancel, pool.result):
        with pytest.raises(InvalidInputError, match="2 partitions"):
            ask(own_id)

    assert pool.status(own_id, partition_key=elsewhere).state is JobState.READY


def test_a_result_is_awaited_by_the_id_alone(
    pool: Any, make_partition: MakePartition, redis_url: str
) -> None:
    job = pool.enqueue("t", {}, partition_key=KEYS[0])
    owned = make_partition(redis_url, job.partition).acquire(lease_s=60)
    assert isinstance(owned, OwnedPartition)
    with pytest.raises(WaitTimeoutError, match="ready"):
        pool.result(job.job_id, timeout_s=0.01)

    w.claim(owned)
    raw = json.dumps(42).encode()
    acks = own.Acks(0, [job.job_id.encode()], [(job.job_id.encode(), 60_000, raw)])
    owned.run(own.finish(owned.ownership, {KEYS[0].encode(): acks}))

    assert pool.result(job.job_id, timeout_s=5) == 42


def test_a_partition_on_a_server_that_is_away_is_not_taken_for_empty(make_pool: MakePool) -> None:
    with EmbeddedServer() as server:
        pool = make_pool(server.url, PARTITIONS, retry_for_s=0.2)
        pool.enqueue("t", {}, partition_key="k", job_id="order-7")
        server.kill()

        with pytest.raises(UnavailableError):
            pool.status("order-7")
