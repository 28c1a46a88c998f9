"""Stored bodies that are damaged: no verb fails over one, and its owner buries it as it is."""

import pytest
import redis

from queuepool.client.pool import QueuePool
from queuepool.models import ErrorRecord, JobState
from queuepool.partitions.partition import Partition
from queuepool.protocol import codec
from queuepool.verbs.owner import verbs as own
from tests.bad_inputs.bodies import DAMAGED, SOUND, replace, stored
from tests.bad_inputs.conftest import StartConsumer
from tests.contract import world as w
from tests.contract.world import World
from tests.integration.consumer.processes import drained
from tests.waiting import wait_until

UNDECODABLE = codec.encode_error(ErrorRecord(reason="undecodable"))
damages = pytest.mark.parametrize("body", DAMAGED.values(), ids=DAMAGED.keys())


def test_every_damaged_job_dies_as_it_is_and_the_others_run(
    pool: QueuePool, partition: Partition, redis_url: str, consume: StartConsumer
) -> None:
    bad = {pool.enqueue("work", {}, partition_key="group").job_id: b for b in DAMAGED.values()}
    good = pool.enqueue_many("work", [{}] * 20, partition_key="group")
    with redis.Redis.from_url(redis_url) as client:
        client.hset(partition.key + b":j", mapping=bad)
    process = consume()

    drained(partition, len(good))
    wait_until(lambda: partition.observe().dead == len(bad))
    dead = {job.job_id: job for job in partition.dead(0, 200)}

    assert {job_id: job.body for job_id, job in dead.items()} == bad
    assert {job.error.reason for job in dead.values()} == {"undecodable"}
    assert {job.attempts for job in dead.values()} == {1}
    assert process.is_running()
    assert "Traceback" not in process.log
    assert "refused" not in process.log
    assert process.stop() == 0


def test_a_damaged_job_that_is_replayed_dies_again_and_can_be_discarded(
    pool: QueuePool, partition: Partition, redis_url: str, consume: StartConsumer
) -> None:
    job = pool.enqueue("work", {}, partition_key="group")
    with redis.Redis.from_url(redis_url) as client:
        client.hset(partition.key + b":j", job.job_id, DAMAGED["empty"])
    consume()
    wait_until(lambda: partition.observe().dead == 1, 60.0)

    assert partition.replay([job.job_id]).replayed == 1

    wait_until(lambda: partition.observe().counters.get("died") == 2)
    assert partition.discard([job.job_id]) == 1
    assert partition.observe().jobs == 0


@damages
def test_it_can_be_looked_at_buried_replayed_and_discarded(world: World, body: bytes) -> None:
    w.enqueue(world, ["bad"])
    replace(world, "bad", body)
    owned = world.own()

    assert world.partition.status("bad").state is JobState.READY
    assert world.partition.observe().oldest_ms < 60_000_000_000_000
    claims = w.claim(owned)
    assert claims.ids == [b"bad"]
    verb = own.bury(owned.ownership, [(b"bad", UNDECODABLE)], **w.KEEP)
    assert owned.run(verb).status == b"b"
    assert world.partition.status("bad").state is JobState.DEAD
    assert [(d.body, d.payload) for d in world.partition.dead(0, 9)] == [(body, None)]
    assert world.partition.replay(["bad"]).replayed == 1
    assert w.claim(owned).ids == [b"bad"]
    assert w.bury(owned, [b"bad"]) == b"b"
    kept = stored(world, "bad") or b""
    assert (kept[:2], kept[13:]) == (body[:2], body[13:])  # the replay stamped it again
    assert world.partition.discard(["bad"]) == 1
    assert world.partition.observe().jobs == 0


@damages
def test_it_goes_back_is_retried_and_recovered_like_any_other(world: World, body: bytes) -> None:
    w.enqueue(world, ["bad"])
    replace(world, "bad", body)
    first = world.own(lease_s=60)

    w.claim(first)
    assert first.run(own.hand_back(first.ownership, [b"bad"])) == 1
    w.claim(first)
    assert w.retry(first, [b"bad"]) == b"r"
    assert w.promote(first).promoted == 1
    w.claim(first)
    world.partition.audit()
    first.run(own.release(first.ownership, drain_lease_ms=0))
    second = world.own()
    assert w.recover(second)[0].recovered == 1
    assert w.claim(second).ids == [b"bad"]
    assert w.bury(second, [b"bad"]) == b"b"
    assert stored(world, "bad") == body


@damages
def test_it_can_be_cancelled_and_abandoned(world: World, body: bytes) -> None:
    w.enqueue(world, ["waiting"])
    w.enqueue(world, ["delayed"], delay_ms=60_000)
    w.enqueue(world, ["running"])
    for job_id in ("waiting", "delayed", "running"):
        replace(world, job_id, body)

    assert world.partition.cancel("waiting") is JobState.READY
    assert world.partition.cancel("delayed") is JobState.DELAYED
    owned = world.own()
    assert w.claim(owned).ids == [b"running"]
    assert world.partition.cancel("running") is JobState.IN_FLIGHT
    assert owned.run(own.end_cancelled(owned.ownership, [b"running"])) == 1
    state = world.partition.observe()
    assert (state.jobs, state.counters["cancelled"]) == (0, 3)
    assert state.backlog == 0


@damages
def test_it_goes_with_its_group_and_hides_nobody_behind_it(world: World, body: bytes) -> None:
    w.enqueue(world, ["bad"])
    w.enqueue(world, w.names("a", 3))
    replace(world, "bad", body)

    assert world.partition.cancel_group(b"g") == (4, 0)

    group = world.partition.group(b"g")
    assert (group.cancelled, group.left) == (4, 0)
    assert world.partition.observe().jobs == 0
    assert w.drain(world.own()) == []


def test_jobs_whose_counts_or_ids_cannot_be_read_die_one_by_one(
    pool: QueuePool, partition: Partition, redis_url: str, consume: StartConsumer
) -> None:
    planted = [b"\xff\xfe", b"x" * 65, b"x" * 3000, b"a b", b"\x1b[2J"]
    with redis.Redis.from_url(redis_url) as client:
        for name, key in (("attempts", b":at"), ("crashes", b":cr")):
            client.hset(partition.key + key, name, "notanumber")
        counted = [
            pool.enqueue("work", {}, partition_key="group", job_id=name).job_id
            for name in ("attempts", "crashes")
        ]
        for job_id in planted:
            client.hset(partition.key + b":j", job_id, SOUND)
            client.rpush(partition.key + b":q:2:group", job_id)
        good = pool.enqueue_many("work", [{}] * 20, partition_key="group")
        process = consume()

        drained(partition, len(good))
        wait_until(lambda: client.zcard(partition.key + b":dead") == 7)
        dead = client.zrange(partition.key + b":dead", 0, -1)
        reasons = {codec.decode_error(e).reason for e in client.hvals(partition.key + b":er")}

    assert set(dead) == {*planted, *(i.encode() for i in counted)}
    assert reasons == {"undecodable"}
    assert process.is_running()
    assert "Traceback" not in process.log
    assert "refused" not in process.log
    assert process.stop() == 0
