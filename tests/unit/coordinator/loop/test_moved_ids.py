"""Ids that ended where their slot was are recognised where it is: nothing is run twice."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from coordinator.loop.firing import ScheduleRunner
from queuepool import AsyncQueuePool, EnqueueStatus, Job, Outbox, Schedule, UnavailableError
from queuepool.client.outbox.databases import create, open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.schema import TABLE
from queuepool.routing.former import KEPT_S
from queuepool.routing.moves import asked_to
from queuepool.routing.slots import slot_of
from queuepool.servers import Reply
from queuepool.testing.server import AsyncMemoryServer
from queuepool.verbs.leader import verbs as lead
from tests.unit.coordinator.loop.moving import KEYS, Queue

pytestmark = pytest.mark.thorough


def own_ids(queue: Queue, count: int = 3) -> list[EnqueueStatus]:
    jobs = (
        Job({"key": key, "n": n}, partition_key=key, job_id=f"{key}-{n}")
        for key in KEYS
        for n in range(count)
    )
    return [result.status for result in queue.app.enqueue_many("t", jobs)]


@pytest.fixture(params=[1, 2], ids=["one server", "two"])
def queue(request: pytest.FixtureRequest) -> Queue:
    made = Queue(request.param)
    assert set(own_ids(made)) == {EnqueueStatus.ACCEPTED}
    made.run_all()
    return made


def places(queue: Queue) -> dict[str, int]:
    queue.ops.route.read()
    view = queue.ops.config.topology.view
    return {key: view.partition_of(slot_of(key.encode())) for key in KEYS}


def to_other_partitions(queue: Queue) -> None:
    for count in (4, 3, 1):
        queue.ask(count, on="main")
        queue.drive()


def to_another_server(queue: Queue) -> None:
    if len(queue.servers) == 1:
        to_other_partitions(queue)
        return
    for server in ("big", "main", "big"):
        view = queue.ops.config.topology.view
        queue.change(lambda _, view=view, to=server: asked_to(view, {0: to}))  # type: ignore[misc]
        queue.drive()


@pytest.mark.parametrize("move", [to_other_partitions, to_another_server])
def test_an_id_that_ended_before_its_slot_moved_is_a_duplicate(queue: Queue, move) -> None:  # type: ignore[no-untyped-def]
    move(queue)

    assert set(own_ids(queue)) == {EnqueueStatus.DUPLICATE}
    again = queue.app.enqueue("t", {}, partition_key="k0", job_id="k0-0")
    assert again.status is EnqueueStatus.DUPLICATE
    assert queue.run_all() == {}
    assert own_ids(queue, 4).count(EnqueueStatus.ACCEPTED) == len(KEYS), "new ids are accepted"
    assert queue.run_all() == {key: [3] for key in KEYS}


def test_an_asyncio_pool_recognises_it_too(queue: Queue) -> None:
    to_other_partitions(queue)

    async def again() -> EnqueueStatus:
        servers = {name: AsyncMemoryServer(server) for name, server in queue.servers.items()}
        async with AsyncQueuePool(config=queue.app.config, servers=servers) as aio:
            return (await aio.enqueue("t", {}, partition_key="k0", job_id="k0-0")).status

    assert asyncio.run(again()) is EnqueueStatus.DUPLICATE


def test_what_was_sent_without_an_answer_and_ended_is_accepted_once(queue: Queue) -> None:
    """The library made the id; the job runs, and its slot moves, before the call is repeated."""
    run_many, slept = queue.server.run_many, list[int]()

    def lose_the_answer(calls) -> list[Reply]:  # type: ignore[no-untyped-def]
        replies = run_many(calls)
        if not slept and calls[0][1].script == "enqueue":
            slept.append(1)
            queue.run_all()
            queue.ask(1, on="main")
            queue.drive()
            raise UnavailableError("gone")
        return replies

    producer = queue.pool(retry_for_s=5.0)
    key = next(key for key in KEYS if producer.group(key).partition.number == 0)
    queue.server.run_many = lose_the_answer  # type: ignore[method-assign]
    assert producer.enqueue("t", {"key": key, "n": 9}, partition_key=key).status in (
        EnqueueStatus.ACCEPTED,
        EnqueueStatus.DUPLICATE,
    )
    assert slept
    assert queue.run_all() == {}


def test_another_job_of_that_id_in_the_old_partition_keeps_nobody_out(queue: Queue) -> None:
    old = places(queue)
    queue.ask(4, on="main")
    queue.drive()
    new = places(queue)
    moved = next(key for key in KEYS if old[key] != new[key])
    stayed = next(key for key in KEYS if old[key] == new[key] == old[moved])

    for key in (stayed, moved):
        assert queue.app.enqueue("t", {}, partition_key=key, job_id="x").status == "accepted"


def test_former_places_are_forgotten_after_a_while_and_no_earlier(queue: Queue) -> None:
    def former() -> str:
        record = queue.ops.route.read()
        assert record is not None
        return record.former

    to_other_partitions(queue)
    assert former()
    queue.now_s = KEPT_S - 1
    queue.mover.look()
    assert former()
    queue.elect()  # who leads next counts from when it sees them
    queue.mover.look()
    queue.now_s += KEPT_S - 1
    queue.mover.look()
    assert former()
    queue.now_s += 2
    queue.mover.look()
    assert not former()
    queue.app.enqueue("t", {}, partition_key="k0")
    assert not queue.app.config.topology.view.former, "producers are told"


def test_a_schedule_that_may_not_overlap_knows_its_job_where_its_slot_went() -> None:
    queue = Queue()
    for n in range(8):
        queue.app.schedules.set(
            Schedule(f"s{n}", "t", every="1s", overlap="skip", partition_key=f"s{n}")
        )
    server, key = queue.driver.system
    verb = lead.lead("me", lease_ms=10**9, address="")
    epoch = verb.read(server.run(key, [verb])[0]).epoch
    runner = ScheduleRunner(queue.driver, lambda: epoch)

    def pass_some_time() -> None:
        for _ in range(3):
            queue.server.fake.advance(1.5)
            runner.look()

    pass_some_time()
    assert sum(queue.jobs().values()) == 8, "one of each, as none runs"
    queue.ask(4)
    queue.drive()
    queue.driver.route.read()
    pass_some_time()
    assert sum(queue.jobs().values()) == 8


def test_a_delivery_of_an_outbox_that_comes_again_is_known_where_its_slots_were(
    queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.db"
    path.touch()
    database = open_database(f"sqlite:///{path}")
    create(database, TABLE)
    outbox = Outbox(queue.app)
    with closing(sqlite3.connect(path)) as connection, connection:
        for key in KEYS:
            outbox.add(connection, "t", {"key": key, "n": 0}, partition_key=key)
    relay = Relay(queue.pool(), database)
    with monkeypatch.context() as patched:  # the relay dies before it deletes the rows
        patched.setattr(relay._numbers, "delete", lambda _numbers: None)
        assert relay.look().moved == len(KEYS)
    assert queue.run_all() == {key: [0] for key in KEYS}
    queue.ask(4, on="big")
    queue.drive()

    again = Relay(queue.pool(), database)
    assert again.look().moved == len(KEYS)
    assert again.waiting() == (0, 0)
    assert queue.run_all() == {}
    database.close()


def test_a_time_that_fired_where_the_slot_was_fires_no_second_time(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(8):
        queue.app.schedules.set(Schedule(f"s{n}", "t", {"key": "s", "n": n}, every="1h",
                                         partition_key=f"s{n}"))  # fmt: skip
    server, key = queue.driver.system
    verb = lead.lead("me", lease_ms=10**9, address="")
    epoch = verb.read(server.run(key, [verb])[0]).epoch
    runner = ScheduleRunner(queue.driver, lambda: epoch)
    runner.look()
    queue.server.fake.advance(3601)
    with monkeypatch.context() as patched:  # the leader dies before it records what fired
        patched.setattr(runner, "_record", lambda: None)
        runner.look()
    assert sorted(queue.run_all()["s"]) == list(range(8))
    queue.ask(4, on="big")
    queue.drive()

    queue.driver.route.read()
    ScheduleRunner(queue.driver, lambda: epoch).look()
    assert queue.run_all() == {}
