"""Batches over four partitions on two servers, run by real consumers."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from queuepool import After, BatchState, Flow, FlowState, Job, QueuePool
from queuepool.process.embedded import EmbeddedServer
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import home_of
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from tests.integration.consumer.conftest import StartConsumer
from tests.integration.consumer.processes import ConsumerProcess
from tests.waiting import wait_until

PARTITIONS, PLACEMENT = 4, "0=a,1=b,2=a,3=b"
FLOWS, JOBS, GRAPHS = 200, 1000, 100  # under kills
Work = Callable[..., list[ConsumerProcess]]


@pytest.fixture
def two_servers(
    redis_url: str, server_factory: Callable[..., EmbeddedServer], tmp_path: Path
) -> tuple[str, EmbeddedServer]:
    """A shared server, and one that a test may stop."""
    return redis_url, server_factory(tmp_path / "second")


@pytest.fixture
def wide(two_servers: tuple[str, EmbeddedServer], stage: str) -> Iterator[QueuePool]:
    """Four partitions, every other one on the second server."""
    first, second = two_servers
    topology = build({"a": first, "b": second.url}, PARTITIONS, PLACEMENT)
    with QueuePool(config=PoolConfig(topology=topology, keyspace=Keyspace(stage))) as pool:
        yield pool


@pytest.fixture
def work(consume: StartConsumer, two_servers: tuple[str, EmbeddedServer]) -> Work:
    """Start a consumer for each partition."""
    first, second = two_servers
    servers = {
        "QUEUEPOOL_URL": "",
        "QUEUEPOOL_SERVERS": json.dumps({"a": first, "b": second.url}),
        "QUEUEPOOL_PLACEMENT": PLACEMENT,
    }

    def start(*numbers: int) -> list[ConsumerProcess]:
        return [
            consume(
                app="tests.apps.flows",
                partition=str(number),
                partitions=PARTITIONS,
                environment=servers,
            )
            for number in numbers or range(PARTITIONS)
        ]

    return start


def _noted(directory: Path) -> list[str]:
    notes = directory / "continuations.txt"
    return sorted(notes.read_text().splitlines()) if notes.exists() else []


def test_each_continuation_runs_once_with_all_results(
    wide: QueuePool, work: Work, tmp_path: Path
) -> None:
    for flow in range(5):
        rows = [Job({"n": n, "fails": int(n % 50 == 7)}, task="piece") for n in range(100)]
        wide.enqueue_many(
            rows,
            partition_key=lambda row: f"piece-{row['n']}",
            then=After("gather", {"flow": flow}, partition_key=f"flow-{flow}"),
        )
    work()

    wait_until(lambda: len(_noted(tmp_path)) >= 5, 60)

    total = sum(n * n for n in range(100))
    assert _noted(tmp_path) == [f"{flow} 100 100 {total}" for flow in range(5)]
    assert all(partition.audit().clean for partition in wide.partitions())


def test_partial_runs_with_what_succeeded(wide: QueuePool, work: Work, tmp_path: Path) -> None:
    work()
    jobs = [Job({"n": n}, task="broken" if n == 3 else "piece") for n in range(10)]
    then = After("gather", {"flow": 1}, partition_key="flow", on_failure="partial")

    results = wide.enqueue_many(jobs, partition_key=lambda row: f"{row['n']}", then=then)

    assert results.batch.wait(timeout_s=60).state is BatchState.FIRED
    assert results.batch.continuation.result(timeout_s=60) == [
        10,
        sum(n * n for n in range(10)) - 9,
    ]


def test_a_flow_whose_home_is_away_recovers(
    wide: QueuePool,
    work: Work,
    two_servers: tuple[str, EmbeddedServer],
    tmp_path: Path,
) -> None:
    first, second = (_key_of(number) for number in (0, 1))
    away = After("gather", {"flow": 1}, partition_key=second)
    here = After("gather", {"flow": 0}, partition_key=first)
    for then in (away, here):  # both have their jobs on the first server
        rows = [{"n": n} for n in range(20)]
        wide.enqueue_many("piece", rows, partition_key=first, then=then)
    two_servers[1].kill()
    work(0)

    wait_until(lambda: len(_noted(tmp_path)) >= 1, 60)
    assert _noted(tmp_path) == [f"0 20 20 {sum(n * n for n in range(20))}"]

    two_servers[1].start()
    work(1)
    wait_until(lambda: len(_noted(tmp_path)) >= 2, 60)
    assert _noted(tmp_path)[1].startswith("1 20 20 ")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_flows_under_kills_each_continue_once_with_all_results(
    wide: QueuePool,
    work: Work,
    two_servers: tuple[str, EmbeddedServer],
    tmp_path: Path,
) -> None:
    running, draw, kills = work(), random.Random(16), 0
    batches = []
    for flow in range(FLOWS):
        rows = [{"n": n, "fails": int(draw.random() < 0.02)} for n in range(JOBS)]
        results = wide.enqueue_many(
            "piece",
            rows,
            partition_key=lambda row, flow=flow: f"{flow}-{row['n'] % 8}",
            then=After("gather", {"flow": flow}, partition_key=f"flow-{flow}"),
        )
        batches.append(results.batch)
        if flow % 5 == 4:
            number = draw.randrange(PARTITIONS)
            running[number].kill()
            [running[number]] = work(number)
            kills += 1
        if flow in (FLOWS // 3, 2 * FLOWS // 3):
            two_servers[1].kill()
            two_servers[1].start()

    wait_until(lambda: len({each.split()[0] for each in _noted(tmp_path)}) == FLOWS, 1200)

    total = sum(n * n for n in range(JOBS))
    noted = Counter(_noted(tmp_path))
    assert set(noted) == {f"{flow} {JOBS} {JOBS} {total}" for flow in range(FLOWS)}
    again = sum(noted.values()) - FLOWS  # it ran when its consumer was killed
    assert again <= kills
    for batch in batches:
        assert batch.continuation.result(timeout_s=30) == [JOBS, total]
    assert all(partition.audit().clean for partition in wide.partitions())


def _diamond(number: int, fails: int = 0) -> Flow:
    """Return a flow of twenty jobs, two steps that follow them, and one that follows those."""
    flow = Flow("diamond", flow_id=f"{number}", partition_key=str)
    flow.add("piece", each=[{"n": n, "fails": fails} for n in range(20)])
    for name, after in (("left", "piece"), ("right", "piece"), ("end", ["left", "right"])):
        payload = {"flow": number, "name": name, "fails": fails}
        flow.add("step", payload, name=name, after=after)
    return flow


def _expected(number: int) -> list[str]:
    pieces = ",".join(sorted(f"piece={n * n}" for n in range(20)))
    lines = [f"{number} {name} {pieces}" for name in ("left", "right")]
    return [f"{number} end left=left,right=right", *lines]


def test_steps_of_a_flow_run_once_across_servers(
    wide: QueuePool, work: Work, tmp_path: Path
) -> None:
    handles = [wide.enqueue_flow(_diamond(number, fails=number % 2)) for number in range(4)]
    work()

    for handle in handles:
        assert handle.wait(timeout_s=60).state is FlowState.DONE

    assert _noted(tmp_path) == sorted(line for n in range(4) for line in _expected(n))
    assert all(partition.audit().clean for partition in wide.partitions())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_steps_of_many_flows_under_kills_have_all_results(
    wide: QueuePool, work: Work, two_servers: tuple[str, EmbeddedServer], tmp_path: Path
) -> None:
    running, draw, kills, handles = work(), random.Random(17), 0, []
    for number in range(GRAPHS):
        handles.append(wide.enqueue_flow(_diamond(number, fails=int(draw.random() < 0.1))))
        if number % 5 == 4:
            at = draw.randrange(PARTITIONS)
            running[at].kill()
            [running[at]] = work(at)
            kills += 1
        if number in (GRAPHS // 3, 2 * GRAPHS // 3):
            two_servers[1].kill()
            two_servers[1].start()

    for handle in handles:
        assert handle.wait(timeout_s=600).state is FlowState.DONE

    noted = Counter(_noted(tmp_path))
    assert set(noted) == {line for number in range(GRAPHS) for line in _expected(number)}
    assert sum(noted.values()) - 3 * GRAPHS <= kills  # jobs that ran when their consumer was killed
    assert all(partition.audit().clean for partition in wide.partitions())


def _key_of(partition: int) -> str:
    return next(key for key in map(str, range(99)) if home_of(key, PARTITIONS) == partition)
