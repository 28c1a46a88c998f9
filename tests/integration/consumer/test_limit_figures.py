"""The non-ready queue: limited jobs beside free ones, with the figures that were set for them.

Slow, and meant for a quiet machine; `-rA` shows the figures.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import Limit
from queuepool.client.pool import QueuePool
from queuepool.client.results import EnqueueResults
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.protocol.codec import read_group
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import home_of
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.verbs.owner import verbs as own
from tests.chaos.checker import Run
from tests.conftest import ServerFactory
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import (
    ConsumerProcess,
    Records,
    done,
    observe,
    owners,
)
from tests.integration.consumer.test_cost_figures import show
from tests.integration.coordinator.cluster import Process
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.serial]
LATE_S = 0.1  # a start that a busy machine delays comes nearer to the next ones
LEAST, MOST = 8, 64
FREE, FREE_MS, LIMITED, RATE = 20_000, 50, 20_000, 20
MINUTES = 1.5  # for which the limited jobs are watched
SHARED, BURST, PERMITS, PARTITIONS = 50, 5, 5, 10
WEIGHTS = (6, 3, 2, 1)
PARKED, ROUNDS, BATCHES = 10_000, 20, 10
EVEN, BETWEEN = 1_500, 500  # starts before the first fault, and after each


def starts_s(runs: list[Run], ids: set[str]) -> list[float]:
    """Return when the executions of these jobs began, in order."""
    return sorted(run.began_ns / 1e9 for run in runs if run.job_id in ids)


def check_windows(begun: list[float], rate: float, slack: float) -> int:
    """Check that no second has more starts than the rate and the slack; return the most."""
    most = max(bisect_left(begun, at_s + 1.0) - n for n, at_s in enumerate(begun))
    assert most <= rate * (1 + LATE_S) + slack, f"{most} starts in a second"
    return most


def ids_of(results: EnqueueResults) -> set[str]:
    return {result.job_id for result in results}


@contextmanager
def coordinated(url: str, stage: str) -> Iterator[None]:
    """Scale partitions meanwhile, by the default policy."""
    process = Process(
        url, stage, partitions=1, policy="sized", base_workers=LEAST, max_workers=MOST
    )
    try:
        yield
    finally:
        process.kill()


def run_free(pool: QueuePool, name: str) -> float:
    """Run the free jobs; return the seconds that they took."""
    pool.enqueue_many("work", [{"ms": FREE_MS}] * FREE, partition_key=name)
    group = pool.group(name)
    status = group.wait(timeout_s=200)
    assert status.done == FREE
    assert status.finished_ms is not None
    assert status.created_ms is not None
    return (status.finished_ms - status.created_ms) / 1000


def workers(partition: Partition) -> int:
    owner = observe(partition).owner
    return owner.workers if owner is not None else 0


@pytest.mark.timeout(400)
def test_limited_jobs_run_at_their_rate_and_free_ones_as_if_they_were_alone(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    records: Records,
    redis_url: str,
    stage: str,
) -> None:
    pool.limits.set(Limit("mail", rate=RATE, burst=BURST))
    with coordinated(redis_url, stage):
        consume(workers=LEAST, max_workers=MOST).owns(partition)
        alone = [run_free(pool, f"alone-{n}") for n in range(2)]
        limited = ids_of(
            pool.enqueue_many("work", [{}] * LIMITED, partition_key="limited", limit="mail")
        )
        beside = [run_free(pool, f"beside-{n}") for n in range(2)]

        begun = starts_s(records.runs(), limited)
        until_s = begun[0] + 60 * MINUTES
        held, most_ready = list[int](), 0
        while time.monotonic() < until_s or workers(partition) > LEAST:
            state = observe(partition)
            held.append(state.in_flight)
            most_ready = max(most_ready, state.backlog)
            assert time.monotonic() < until_s + 120, f"{workers(partition)} workers"
            before = state.counters.get("done", 0)
            wait_until(lambda n=before: done(partition) > n, 30)  # type: ignore[misc]
    begun = starts_s(records.runs(), limited)

    span_s = begun[-1] - begun[0]
    used = [
        (bisect_left(begun, from_s + 20) - n) / (20 * RATE)
        for n, from_s in enumerate(begun)
        if from_s + 20 <= begun[-1]
    ]
    most = check_windows(begun, RATE, BURST + 2 + 1)
    show(f"free jobs: alone {min(alone):.1f} s, beside {min(beside):.1f} s")
    show(f"limited: {len(begun) / span_s / RATE:.1%} of the rate over {span_s:.0f} s")
    show(f"in 20 s at least {min(used):.1%}, in 1 s at most {most}; held {max(held)} at once")
    assert min(beside) <= 1.05 * min(alone)
    assert min(used) >= 0.97
    assert max(held) <= BURST + 2 + 1
    assert most_ready <= BURST + 2 + 1


class Cluster:
    """Ten partitions on two servers, a consumer for each, and some that stand by."""

    def __init__(self, pool: QueuePool, servers: dict[str, Any], start: Any) -> None:
        self.pool, self.servers, self._start = pool, servers, start
        self.partitions = list(pool.partitions())
        self.consumers: list[ConsumerProcess] = [start() for _ in range(PARTITIONS + 1)]
        self.killed: dict[int, int] = {}  # pid -> ns

    def all_owned(self) -> bool:
        """Start a consumer for each that has ended; return whether all partitions are owned."""
        running = [one for one in self.consumers if one.is_running()]
        self.consumers = [*running, *(self._start() for _ in self.consumers[len(running) :])]
        return all(map(owners, self.partitions))

    def kill_owner(self, number: int) -> None:
        """Kill the owner of a partition; another consumer stands by."""
        (pid,) = owners(self.partitions[number])
        owner = next(one for one in self.consumers if one.pid == pid)
        owner.kill()
        self.killed[pid] = time.monotonic_ns()

    def granted(self) -> int:
        status = self.pool.limits.get("mail")
        assert status is not None
        return status.granted

    def wait_for(self, more: int) -> None:
        """Wait until so many more jobs were allowed to start."""
        target = self.granted() + more
        wait_until(lambda: self.granted() >= target, 120, interval_s=0.2)


@pytest.mark.timeout(400)
def test_ten_partitions_on_two_servers_share_limits_evenly_over_kills(
    server_factory: ServerFactory,
    stage: str,
    consume: StartConsumer,
    records: Records,
    tmp_path: Path,
) -> None:
    """Three owners are killed, and the server that is not the home of the rate."""
    always = ("--appendfsync", "always")
    servers = {name: server_factory(tmp_path / name, extra_args=always) for name in ("a", "b")}
    urls = {name: server.url for name, server in servers.items()}
    placement = "0-4=a,5-9=b"
    variables = {"QUEUEPOOL_SERVERS": json.dumps(urls), "QUEUEPOOL_PLACEMENT": placement}

    def start() -> ConsumerProcess:
        settings = {"partitions": PARTITIONS, "partition": "auto", "workers": 4, "lease_s": 10}
        return consume(url="", environment=variables, **settings)

    config = PoolConfig(
        topology=build(urls, PARTITIONS, placement),
        keyspace=Keyspace(stage),
        timeout_s=2.0,
        retry_for_s=30.0,
    )
    where: dict[str, tuple[str, int]] = {}
    with QueuePool(config=config) as pool:
        pool.limits.set(Limit("mail", rate=SHARED, burst=BURST))
        pool.limits.set(Limit("db", concurrency=PERMITS))
        cluster = Cluster(pool, servers, start)
        wait_until(cluster.all_owned, 60)
        for number in range(PARTITIONS):
            key = next(key for key in map(str, range(9_999)) if home_of(key, PARTITIONS) == number)
            for name, count, ms in (("mail", 1_500, 0), ("db", 600, 300)):
                rows = [{"ms": ms}] * count
                found = pool.enqueue_many("work", rows, partition_key=key, limit=name)
                where |= dict.fromkeys(ids_of(found), (name, number))

        cluster.wait_for(100)
        from_s = time.monotonic()
        cluster.wait_for(EVEN)
        even_s = time.monotonic()
        home = home_of("mail", PARTITIONS)
        away = next(n for n in range(PARTITIONS) if (n < 5) != (home < 5))
        for number in (home, away, (home + 1) % PARTITIONS):
            cluster.kill_owner(number)
            cluster.wait_for(BETWEEN)
            wait_until(cluster.all_owned, 60)
        other = servers["b" if home < 5 else "a"]
        other.kill()
        other.start()
        cluster.wait_for(BETWEEN)
        wait_until(cluster.all_owned, 60)
        to_s = time.monotonic()

    check_shares(records.runs(), where, from_s, even_s, to_s)
    check_permits(records.runs(), where, cluster.killed)


def check_shares(
    runs: list[Run], where: dict[str, tuple[str, int]], from_s: float, even_s: float, to_s: float
) -> None:
    """Check the rate: of all, of each partition before the faults, and in each second."""
    mail = {job_id for job_id, (name, _) in where.items() if name == "mail"}
    begun = [at_s for at_s in starts_s(runs, mail) if from_s <= at_s <= to_s]
    each = Counter(
        where[run.job_id][1]
        for run in runs
        if run.job_id in mail and from_s <= run.began_ns / 1e9 < even_s
    )
    tenth = sum(each.values()) / PARTITIONS
    lost_s = (to_s - from_s) - len(begun) / SHARED
    most = check_windows(begun, SHARED, BURST + PARTITIONS * (SHARED // 10 + 1))
    show(f"shares: {min(each.values()) / tenth:.2f} to {max(each.values()) / tenth:.2f} of a tenth")
    show(f"{lost_s:.1f} s of rate lost by four kills in {to_s - from_s:.0f} s; {most} in a second")
    assert len(each) == PARTITIONS
    assert 0.9 * tenth <= min(each.values()) <= max(each.values()) <= 1.1 * tenth
    assert lost_s <= 0.03 * (to_s - from_s) + 4 * 2.0


def check_permits(
    runs: list[Run], where: dict[str, tuple[str, int]], killed: dict[int, int]
) -> None:
    """Check that no more jobs ran at once than there are permits; those killed ended then."""
    moments = []
    for run in (run for run in runs if where[run.job_id][0] == "db"):
        moments.append((run.began_ns, 1))
        end_ns = killed.get(run.pid) if run.ended_ns is None else run.ended_ns
        if end_ns is not None:
            moments.append((end_ns, -1))
    running = most = 0
    for _, change in sorted(moments):
        running += change
        most = max(most, running)
    show(f"{most} of {PERMITS} permits in use at most")
    assert most == PERMITS


def claim_us(client: Any, owned: OwnedPartition, batches: int) -> float:
    """Return the server's microseconds for claims of 100 jobs; what was claimed is finished."""
    spent = 0.0
    verb = own.claim(owned.ownership, 100, starting=8, promote_after_ms=0, weights=WEIGHTS)
    for _ in range(batches):
        before = script_us(client)
        claims = owned.run(verb)
        spent += script_us(client) - before
        acks: dict[bytes, own.Acks] = {}
        for job_id, body in zip(claims.ids, claims.bodies, strict=True):
            group = acks.setdefault(read_group(body), own.Acks(0, [], []))
            group.size_bytes += len(body)
            group.ids.append(job_id)
        assert len(claims.ids) == 100
        owned.run(own.finish(owned.ownership, acks))
    return spent


def script_us(client: Any) -> float:
    found = client.info("commandstats")
    return float(found["cmdstat_evalsha"]["usec"])


@pytest.mark.parametrize("others", [1, 0])
def test_10_000_parked_lanes_cost_a_claim_nothing(
    server_factory: ServerFactory, stage: str, others: int
) -> None:
    """Partitions take turns on one server: one has 10,000 parked lanes, the other has 1 or none."""
    server = server_factory(appendonly=False)
    config = PoolConfig(
        topology=build({"main": server.url}, 2, ""), keyspace=Keyspace(stage), timeout_s=5.0
    )
    with QueuePool(config=config) as pool, redis.Redis.from_url(server.url) as client:
        pool.limits.set(Limit("mail", rate=1))
        pool.limits.pause("mail")
        owned = []
        for number, lanes in enumerate((PARKED, others)):
            names = [n for n in map(str, range(3 * PARKED)) if home_of(n, 2) == number]
            for name in names[:lanes]:
                pool.enqueue("work", {}, partition_key=name, limit="mail")
            assert pool.partition(number).observe().parked == lanes
            free = [{"pad": "x" * 80}] * (ROUNDS * BATCHES + 10) * 100
            pool.enqueue_many("work", free, partition_key=names[-1])
            acquired = pool.partition(number).acquire(lease_s=600)
            assert isinstance(acquired, OwnedPartition)
            owned.append(acquired)
        spent = [0.0, 0.0]
        for turn in range(2 * ROUNDS):  # either of them begins as often
            for n in (turn // 2 % 2, 1 - turn // 2 % 2):
                us = claim_us(client, owned[n], BATCHES // 2)
                spent[n] += us if turn > 1 else 0.0  # the first are to get warm

    ratio = spent[0] / spent[1]
    show(f"a claim of 100 beside {PARKED:,} parked lanes costs {ratio:.3f} of one beside {others}")
    assert ratio <= 1.03
