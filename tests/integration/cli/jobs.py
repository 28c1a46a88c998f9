"""Jobs for the commands to look at."""

from pathlib import Path

from queuepool import QueuePool
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs.owner import verbs as own

KEY = "import-1"


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def own_partition(pool: QueuePool, number: int) -> OwnedPartition:
    owned = pool.partition(number).acquire(lease_s=60, host="tester:1")
    assert isinstance(owned, OwnedPartition)
    return owned


def claim(owned: OwnedPartition, limit: int = 10) -> list[bytes]:
    verb = own.claim(
        owned.ownership, limit, starting=limit, promote_after_ms=60_000, weights=(6, 3, 2, 1)
    )
    return list(owned.run(verb).ids)


def bury(pool: QueuePool, key: str, count: int, error: str = "boom") -> list[str]:
    """Enqueue jobs and let them die; returns their ids."""
    pool.enqueue_many("send", [{"n": n} for n in range(count)], partition_key=key)
    owned = own_partition(pool, pool.group(key).partition.number)
    ids = claim(owned, count)
    record = b'{"reason":"failed","type":"ValueError","message":"%s"}' % error.encode()
    jobs = [(job_id, record) for job_id in ids]
    owned.run(own.bury(owned.ownership, jobs, keep_jobs=1000, keep_bytes=10**6, keep_ms=10**8))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    return [job_id.decode() for job_id in ids]
