"""What every server offers: many keys in one call, pipes, a doorbell, asyncio."""

import asyncio
import threading

from queuepool.servers import AsyncPort
from queuepool.servers.aio import AsyncServer
from queuepool.testing import AsyncMemoryServer, MemoryServer
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World


def test_replies_come_in_order(world: World) -> None:
    w.enqueue(world, ["a"])
    verbs = [produce.cancel(i) for i in ("never", "a", "a")]

    replies = world.partition.server.run(world.partition.key, verbs)

    assert replies == [b"unknown", b"ready", b"unknown"]
    assert world.partition.server.run(world.partition.key, []) == []


def test_one_call_reaches_several_partitions(world: World) -> None:
    other = world.partition.key + b"-other"
    w.enqueue(world, ["a"])

    replies = world.partition.server.run_many(
        [(key, operate.observe(0)) for key in (world.partition.key, other)]
    )

    assert [operate.observe(0).read(r).jobs for r in replies] == [1, 0]


def test_a_pipe_answers_in_order_and_may_be_closed_early(world: World) -> None:
    w.enqueue(world, ["a"])
    stream = world.partition.server.stream(world.partition.key, 4)
    for job_id in ("a", "a", "b"):
        stream.push(produce.cancel(job_id))

    assert [stream.pull(), stream.pull()] == [b"ready", b"unknown"]
    stream.close()
    stream.close()


def test_the_doorbell_brings_tokens(world: World) -> None:
    bell = world.partition.server.doorbell(world.partition.key)
    try:
        w.enqueue(world, ["a"])

        assert bell.wait(30.0) == b"w"
        assert bell.wait(0.01) is None
    finally:
        bell.close()


def test_the_doorbell_is_rung_by_another_thread(world: World) -> None:
    bell = world.partition.server.doorbell(world.partition.key)
    ringer = threading.Thread(target=bell.ring)
    try:
        bell.wait(0.0)
        ringer.start()

        assert bell.wait(30.0) is None  # the test's own time limit is what would end it
    finally:
        ringer.join()
        bell.close()


def test_a_sleeper_is_woken_by_a_new_job(world: World) -> None:
    bell = world.partition.server.doorbell(world.partition.key)
    producer = threading.Thread(target=w.enqueue, args=(world, ["a"]))
    try:
        producer.start()

        assert bell.wait(30.0) == b"w"
    finally:
        producer.join()
        bell.close()


def test_asyncio_sees_the_same_partition(world: World) -> None:
    server = world.partition.server
    w.enqueue(world, ["a"])

    async def cancel() -> list[object]:
        port: AsyncPort
        if isinstance(server, MemoryServer):
            port = AsyncMemoryServer(server)
        else:
            host = world.client.connection_pool.connection_kwargs
            port = AsyncServer(f"redis://{host['host']}:{host['port']}/0")
        try:
            return await port.run(world.partition.key, [produce.cancel("a"), produce.cancel("b")])
        finally:
            await port.close()

    assert asyncio.run(cancel()) == [b"ready", b"unknown"]


def test_a_server_tells_of_itself(world: World) -> None:
    info = world.partition.server.info()

    assert info["maxmemory_policy"] == "noeviction"
    assert "redis_version" in info
    assert world.partition.server.name
