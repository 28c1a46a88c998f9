"""queuepool migrate: from a queue without partitions to partitions under load, and back."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from queuepool import After, AsyncQueuePool, PoolConfig, QueuePool, Schedule
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.migration import Migration
from queuepool.errors import ConfigurationError, InvalidInputError, SealedError, UnavailableError
from queuepool.models import EnqueueStatus
from queuepool.models.places import LEGACY
from queuepool.models.schedules import id_of_time
from queuepool.process.keeping import RouteKeeper
from queuepool.protocol.keys import Keyspace
from queuepool.routing.slots import slot_of
from queuepool.routing.topology import build
from queuepool.servers.connect import connect
from queuepool.tasks.registry import Registry
from tests.e2e import clusters
from tests.integration.coordinator.cluster import Process
from tests.shell import Shell
from tests.waiting import wait_until

PARTITIONS = 2
EARLY, LATE = "key-0", "key-9"  # by their slots: one shifts with the first half


@pytest.fixture
def config_of(redis_url: str, stage: str) -> Callable[[bool], PoolConfig]:
    def make(partitioned: bool) -> PoolConfig:
        topology = build({"main": redis_url}, PARTITIONS, "", partitioned=partitioned)
        return PoolConfig(topology=topology, keyspace=Keyspace(stage))

    return make


@pytest.fixture
def old(config_of: Callable[[bool], PoolConfig]) -> Iterator[QueuePool]:
    """A pool of a process with QUEUEPOOL_PARTITIONED=false."""
    with QueuePool(config=config_of(False)) as made:
        yield made


@pytest.fixture
def new(config_of: Callable[[bool], PoolConfig]) -> Iterator[QueuePool]:
    """A pool of a process with partitions."""
    with QueuePool(config=config_of(True)) as made:
        yield made


@pytest.fixture
def partitions(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", str(PARTITIONS))
    return shell


class Load:
    """Consumers that note what they ran, and a producer."""

    def __init__(self) -> None:
        self.registry, self.ran, lock = Registry(), Counter[int](), threading.Lock()
        self.sent = 0

        @self.registry.task
        def note(n: int) -> None:
            with lock:
                self.ran[n] += 1

    @contextmanager
    def consumer(self, config: PoolConfig) -> Iterator[Consumer]:
        with QueuePool(config=config) as pool:
            settings = ConsumerSettings(roaming=False, workers=2)
            made = Consumer(pool, settings, registry=self.registry)
            thread = threading.Thread(target=made.run)
            thread.start()
            try:
                yield made
            finally:
                made.stop()
                thread.join(30)
                assert not thread.is_alive()

    def has_sent(self, count: int) -> bool:
        return self.sent >= count

    def produce(self, pools: list[QueuePool], count: int, chunk: int) -> None:
        for first in range(0, count, chunk):
            rows = [{"n": n} for n in range(first, min(count, first + chunk))]
            pool = pools[first // chunk % len(pools)]
            found = pool.enqueue_many(
                "note", rows, partition_key=lambda row: f"key-{row['n'] % 40}"
            )
            assert found.accepted == len(rows)
            self.sent += len(rows)


def _key_of(row: Mapping[str, Any]) -> str:
    return f"key-{row['n'] % 40}"


def run(shell: Shell, *words: str) -> Any:
    assert shell.run("migrate", *words, "--json") == Exit.OK, shell.err
    return shell.lines[0]


@pytest.mark.parametrize(
    "count", [1_200, pytest.param(50_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_a_queue_moves_to_partitions_under_load_and_back_and_through(
    count: int, partitions: Shell, old: QueuePool, new: QueuePool,
    config_of: Callable[[bool], PoolConfig],
) -> None:  # fmt: skip
    shell, load, wrong = partitions, Load(), list[int]()
    old.enqueue("note", {"n": -1}, partition_key="first")
    producing = threading.Thread(target=load.produce, args=([old, new], count, count // 60))
    over = threading.Event()

    def watch() -> None:
        with QueuePool(config=config_of(True)) as pool:
            while not over.wait(0.1):
                facts = Migration(pool).facts()
                total = facts.legacy.plus(facts.partitions)
                wrong.extend([total.missing] if total.missing else [])

    watching = threading.Thread(target=watch)
    with load.consumer(config_of(False)) as legacy:
        wait_until(lambda: legacy.partition == LEGACY)
        watching.start()
        producing.start()
        try:
            assert run(shell, "status")["phase"] == 0
            assert shell.run("migrate", "shift", "10%") == Exit.FAILED
            assert "no consumer owns partition 0, 1" in shell.err
            with load.consumer(config_of(True)) as a, load.consumer(config_of(True)) as b:
                wait_until(lambda: None not in (a.partition, b.partition))
                assert run(shell, "status")["phase"] == 1
                plan: list[tuple[tuple[str, ...], int]] = [
                    (("shift", "25%"), 2), (("shift", "60"), 2), (("rollback",), 1),
                    (("shift", "50%"), 2), (("shift", "100%"), 3),
                ]  # fmt: skip
                for place, (words, phase) in enumerate(plan, 1):
                    wait_until(partial(load.has_sent, count * place // 7), 300)
                    assert run(shell, *words)["phase"] == phase
                producing.join(300)
                wait_until(lambda: sum(load.ran.values()) >= count + 1, 300)
                wait_until(lambda: run(shell, "status")["legacy"]["live"] == 0, 60)
                before = run(shell, "status")
                found = run(shell, "seal", "--yes")
                new.enqueue("note", {"n": count}, partition_key="last")
                wait_until(lambda: load.ran[count] == 1)
        finally:
            over.set()
            watching.join()
    assert wrong == [], "at every moment, each job is there or has ended"
    assert (found["phase"], found["missing"], found["legacy"]["dead"]) == (4, 0, 0)
    assert load.ran == Counter(range(-1, count + 1)), "each job ran once"
    assert found["legacy"] == before["legacy"], "the sealed place keeps its counts"
    both = (found["legacy"], found["partitions"])
    assert sum(place["enqueued"] for place in both) == count + 1
    with pytest.raises(SealedError, match="QUEUEPOOL_PARTITIONED=true"):
        old.enqueue("note", {"n": 0}, partition_key="forgotten")


def test_groups_are_one_whatever_the_place_of_their_jobs(
    partitions: Shell, old: QueuePool, new: QueuePool
) -> None:
    first = old.enqueue("note", {"n": 1}, partition_key=EARLY)
    later = old.enqueue("note", {"n": 1}, partition_key=LATE)
    assert {first.partition, later.partition} == {LEGACY}
    run(partitions, "shift", "50%", "--without-consumers")

    second = new.enqueue("note", {"n": 2}, partition_key=EARLY)

    assert second.partition == slot_of(EARLY.encode()) % PARTITIONS
    assert new.enqueue("note", {"n": 2}, partition_key=LATE).partition == LEGACY
    for pool in (old, new):
        assert pool.group(EARLY).status().ready == 2
        assert pool.status(first.job_id, partition_key=EARLY).partition == LEGACY
        assert pool.status(second.job_id).partition == second.partition
    assert new.group(EARLY).hold()
    assert sum(p.observe().held for p in new.partitions()) == 2
    assert old.cancel(first.job_id) == "ready"
    assert new.group(EARLY).cancel() == (1, 0)
    assert new.group(LATE).cancel() == (2, 0)


async def asynchronous(config: PoolConfig) -> int:
    async with AsyncQueuePool(config=config) as pool:
        return (await pool.enqueue("note", {"n": 3}, partition_key=EARLY)).partition


def test_a_queue_that_has_partitions_refuses_the_flag(
    partitions: Shell, old: QueuePool, new: QueuePool, config_of: Callable[[bool], PoolConfig]
) -> None:
    assert new.enqueue("note", {"n": 0}, partition_key=EARLY).partition < PARTITIONS
    with pytest.raises(ConfigurationError, match="has partitions"):
        old.enqueue("note", {"n": 0}, partition_key=EARLY)
    assert partitions.run("migrate", "status") == Exit.USAGE
    assert "nothing to migrate" in partitions.err
    assert asyncio.run(asynchronous(config_of(True))) < PARTITIONS


def test_a_key_is_shifted_alone(
    partitions: Shell, old: QueuePool, config_of: Callable[[bool], PoolConfig]
) -> None:
    old.enqueue("note", {"n": 0}, partition_key=LATE)
    run(partitions, "shift", "--key", EARLY, "--without-consumers")

    assert old.enqueue("note", {"n": 0}, partition_key=EARLY).partition < PARTITIONS
    assert old.enqueue("note", {"n": 0}, partition_key=LATE).partition == LEGACY
    assert asyncio.run(asynchronous(config_of(False))) < PARTITIONS
    assert partitions.run("migrate", "shift", "0%", "--without-consumers") == Exit.FAILED
    assert "rollback" in partitions.err
    run(partitions, "rollback", "--without-consumers")
    assert old.enqueue("note", {"n": 0}, partition_key=EARLY).partition == LEGACY


def test_a_place_with_jobs_or_producers_is_not_sealed(partitions: Shell, old: QueuePool) -> None:
    job = old.enqueue("note", {"n": 0}, partition_key=LATE)

    assert partitions.run("migrate", "seal", "--yes") == Exit.FAILED
    assert "producers are active" in partitions.err
    run(partitions, "shift", "100%", "--without-consumers")
    assert partitions.run("migrate", "seal", "--yes") == Exit.FAILED
    assert "1 jobs that have not ended" in partitions.err
    assert old.enqueue("note", {"n": 1}, partition_key=LATE).partition < PARTITIONS

    assert old.cancel(job.job_id, partition_key=LATE) == "ready"
    assert run(partitions, "seal", "--yes")["phase"] == 4
    assert partitions.run("migrate", "rollback") == Exit.FAILED
    assert "is sealed" in partitions.err


def test_a_refused_seal_says_until_when_jobs_are_delayed_and_what_to_do(
    partitions: Shell, old: QueuePool
) -> None:
    for days in (1, 30):
        old.enqueue("note", {}, partition_key=LATE, job_id=f"in-{days}", delay=days * 86400)
    run(partitions, "shift", "100%", "--without-consumers")

    assert partitions.run("migrate", "seal", "--yes") == Exit.FAILED
    assert "2 jobs that have not ended" in partitions.err
    assert re.search(r"Delayed: 2, the last until \S+ \S+ \(in (30d|29d)", partitions.err)
    [listing] = re.findall(r"`queuepool (job find [^`]*)`", partitions.err)
    found = partitions.json(*listing.split())
    assert {job["job_id"] for job in found} == {"in-1", "in-30"}

    assert partitions.run("job", "run", "in-1") == Exit.OK
    due_ms = [old.status(f"in-{days}").at_ms or 0 for days in (1, 30)]
    assert due_ms[1] - due_ms[0] > 29.9 * 86_400_000, "the first is due by now"
    for days in (1, 30):
        assert partitions.run("job", "cancel", f"in-{days}") == Exit.OK
    again = old.enqueue("note", {}, partition_key=LATE, delay=30 * 86400)
    assert again.partition < PARTITIONS
    assert run(partitions, "seal", "--yes")["phase"] == 4


def test_processes_that_still_have_the_flag_end_at_the_seal_and_others_do_not(
    partitions: Shell, old: QueuePool, new: QueuePool
) -> None:
    old.enqueue("note", {"n": 0}, partition_key=LATE, job_id="only")
    new.group(LATE).status()
    refused: list[ConfigurationError] = []
    keepers = [RouteKeeper(pool, refused.append) for pool in (old, new)]
    assert old.cancel("only", partition_key=LATE) == "ready"
    run(partitions, "shift", "100%", "--without-consumers")
    assert [keeper.look() for keeper in keepers] == [True, True]

    run(partitions, "seal", "--yes")

    assert [keeper.look() for keeper in keepers] == [False, True]
    assert [type(error) for error in refused] == [SealedError]


def test_a_consumer_of_a_partition_does_not_take_the_flag(redis_url: str, tmp_path: Path) -> None:
    app = "from queuepool import task\n\n@task\ndef note() -> None: ...\n"
    (tmp_path / "flagged.py").write_text(app)
    flags = {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_PARTITIONED": "false"}

    done = clusters.run(
        tmp_path,
        *("consumer", "--app", "flagged", "--partition", "1"),
        environment=clusters.clean_environment(**flags),
    )

    assert done.code == Exit.USAGE
    assert "CONSUMER_PARTITION=1 with QUEUEPOOL_PARTITIONED=false" in done.err


def test_a_flow_has_its_home_in_a_partition(old: QueuePool) -> None:
    with pytest.raises(InvalidInputError, match="migrate shift"):
        old.enqueue_many("note", [{"n": 1}], partition_key=LATE, then=After("done"))
    assert old.group(LATE).status().total == 0


def test_a_coordinator_with_the_flag_fires_schedules_in_the_legacy_place(
    old: QueuePool, redis_url: str, stage: str
) -> None:
    old.enqueue("note", {"n": 0}, partition_key=EARLY)
    old.schedules.set(Schedule("tick", "note", {"n": 1}, every=1))
    (at_ms,) = old.schedules.list()[0].next(1)
    coordinator = Process(redis_url, stage, environment={"QUEUEPOOL_PARTITIONED": "false"})
    try:
        wait_until(lambda: old.schedules.list()[0].state.fired >= 1, 60)
    finally:
        coordinator.kill()

    found = old.status(id_of_time("tick", at_ms), partition_key="tick")
    assert (found.partition, found.task) == (LEGACY, "note")


class Deaf:
    """A server whose next replies to enqueues get lost."""

    def __init__(self, real: Any) -> None:
        self._real, self.lost = real, 0

    def run(self, key: bytes, verbs: Any) -> list[Any]:
        replies: list[Any] = self._real.run(key, verbs)
        if self.lost and any(verb.script == "enqueue" for verb in verbs):
            self.lost -= 1
            raise UnavailableError("the reply was lost")
        return replies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def test_a_job_whose_reply_was_lost_before_the_shift_is_not_added_again_after_it(
    partitions: Shell, config_of: Callable[[bool], PoolConfig], redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    server: Any = Deaf(connect(redis_url, timeout_s=5.0))
    with QueuePool(config=config_of(False), servers={"main": server}) as pool:
        pool.enqueue("note", {"n": 0}, partition_key=EARLY)
        real = server.run

        def shifted_meanwhile(key: bytes, verbs: Any) -> list[Any]:
            try:
                return list(real(key, verbs))
            except UnavailableError:
                run(partitions, "shift", "100%", "--without-consumers")
                raise

        monkeypatch.setattr(server, "run", shifted_meanwhile)
        server.lost = 1
        found = pool.enqueue("note", {"n": 1}, partition_key=EARLY)

        assert (found.status, found.partition) == (EnqueueStatus.ACCEPTED, LEGACY)
        assert pool.group(EARLY).status().total == 2
    server.close()
