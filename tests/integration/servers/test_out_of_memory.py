"""A server at maxmemory refuses what adds data, and lets everything drain that is there."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import PoolConfig, QueuePool, UnavailableError
from queuepool.partitions.partition import OwnedPartition
from queuepool.process.embedded import EmbeddedServer
from queuepool.routing.topology import single
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own

WEIGHTS = (6, 3, 2, 1)


@pytest.fixture
def full(engine_binary: Path) -> Iterator[tuple[QueuePool, OwnedPartition]]:
    """A pool with 20 jobs and an owner, on a server whose memory has just run out."""
    with EmbeddedServer(binary=engine_binary) as server:
        config = PoolConfig(topology=single(server.url, 1), retry_for_s=0)
        with QueuePool(config=config) as pool:
            pool.enqueue_many("t", ({"n": n} for n in range(20)), partition_key="k")
            owned = pool.partition(0).acquire(lease_s=60)
            assert isinstance(owned, OwnedPartition)
            with redis.Redis.from_url(server.url) as admin:
                admin.config_set("maxmemory", 1)
                admin.script_flush()  # as after a restart: scripts must load, too
            yield pool, owned


def _claim(owned: OwnedPartition) -> own.Claims:
    return owned.run(
        own.claim(owned.ownership, 10, starting=10, promote_after_ms=0, weights=WEIGHTS)
    )


def test_what_drains_and_what_leads_goes_on(full: tuple[QueuePool, OwnedPartition]) -> None:
    pool, owned = full
    ownership = owned.ownership

    claims = _claim(owned)
    ids = [bytes(job_id) for job_id in claims.ids]
    renewal = own.renew(
        ownership, lease_ms=60_000, beat=1, workers=1, busy=1, target=1, applied="0-0"
    )
    owned.run(renewal)
    owned.run(own.start(ownership, ids))
    owned.run(
        own.finish(
            ownership,
            {b"k": own.Acks(sum(map(len, claims.bodies[:5])), ids[:5], [(ids[0], 60_000, b"1")])},
        )
    )
    owned.run(own.retry(ownership, [(ids[5], 0, True, b'{"reason":"failed"}')]))
    owned.run(own.bury(ownership, [(ids[6], b"{}")], keep_jobs=9, keep_bytes=999, keep_ms=999))
    owned.run(own.hand_back(ownership, ids[7:]))
    owned.run(own.promote(ownership))
    system, key = pool.system
    leader = lead.lead("n", lease_ms=1000, address="")
    command = lead.command(
        1, 1, type="SCALE_UP", partition=0, target_workers=9, reason="", expires_ms=1000
    )

    assert leader.read(system.run(key, [leader])[0]).leading
    assert owned.run(command)[0]
    assert pool.group("k").cancel() == (14, 0)
    assert owned.partition.audit().clean
    assert owned.run(own.release(ownership, drain_lease_ms=0)) is False


@pytest.mark.parametrize("what", ["enqueue", "progress", "replay"])
def test_what_adds_data_is_refused(full: tuple[QueuePool, OwnedPartition], what: str) -> None:
    pool, owned = full
    calls: dict[str, Callable[[], Any]] = {
        "enqueue": lambda: pool.enqueue("t", {}, partition_key="k"),
        "progress": lambda: owned.run(own.progress(owned.ownership, {b"x": b"half"})),
        "replay": lambda: owned.partition.replay(["x"]),
    }
    before = owned.partition.observe().counters

    with pytest.raises(UnavailableError, match="out of memory"):
        calls[what]()

    assert owned.partition.observe().counters == before
