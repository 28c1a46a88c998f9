"""A failover that lost the last writes: jobs are finished wherever the survivor has them.

A lost write is played by undoing it with plain Redis commands, which memory cannot lose; so this
file runs on real servers only.
"""

from queuepool.models import JobState
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.scripts import script
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World
from tests.waiting import wait_until


def undo_claim(world: World, job_id: bytes, epoch: int) -> None:
    """Put a job back as if its claim had never reached the new primary."""
    base, client = world.partition.key, world.client
    client.zrem(base + b":fl:%d" % epoch, job_id)
    client.lpush(base + b":q:2:g", job_id)
    client.hincrby(base + b":c", "r2", 1)
    if client.llen(base + b":ring:2") == 0:
        client.lpush(base + b":ring:2", b"2%011xg" % 0x18C0000000)


def calls_of_scripts(world: World) -> int:
    """Return how often the server was asked to run one, known to it or not."""
    return int(world.client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0))


def test_a_job_whose_claim_was_lost_is_finished_in_its_lane(server_world: World) -> None:
    world = server_world
    owned = world.own()
    w.enqueue(world, ["a", "b"])
    claims = w.claim(owned)
    undo_claim(world, b"b", owned.epoch)
    undo_claim(world, b"a", owned.epoch)

    done = w.finish(owned, claims, 0, results=True)

    assert done == own.Finished(1, 0, 1)
    assert world.partition.status("a").result == "r-a"
    assert world.partition.observe().backlog == 1
    assert world.counters()["rollback_finish"] == 1
    assert w.drain(owned) == ["b"]
    assert snapshot(world)["marks"] == set()
    assert world.partition.group(b"g").done == 2


def test_a_job_whose_promotion_was_lost_is_finished_among_the_delayed(server_world: World) -> None:
    world = server_world
    owned = world.own()
    w.enqueue(world, ["a"], delay_ms=1_000)
    world.advance(2)
    w.promote(owned)
    claims = w.claim(owned)
    base = world.partition.key
    world.client.zrem(base + b":fl:%d" % owned.epoch, b"a")
    world.client.zadd(base + b":dl", {b"a": 1e12})
    world.client.hincrby(base + b":g:g", "delayed", 1)

    assert w.finish(owned, claims) == own.Finished(1, 0, 1)

    assert world.partition.observe().delayed == 0
    assert world.partition.group(b"g").delayed == 0


def test_a_job_whose_enqueue_was_lost_counts_as_a_duplicate(server_world: World) -> None:
    world = server_world
    owned = world.own()
    w.enqueue(world, ["a"])
    claims = w.claim(owned)
    for key in world.client.keys(world.partition.key + b":[^o]*"):
        world.client.delete(key)

    assert w.finish(owned, claims) == own.Finished(0, 1, 0)
    assert world.partition.status("a").state is JobState.DONE


def test_scripts_are_loaded_again_after_a_restart_lost_them(server_world: World) -> None:
    world = server_world
    w.enqueue(world, ["a"])
    world.client.script_flush()

    assert w.enqueue(world, ["b"]) == b"1"
    world.client.script_flush()
    stream = world.partition.server.stream(world.partition.key, 2)

    stream.push(produce.cancel("a"))
    assert stream.pull() == b"ready"
    stream.close()


def test_jobs_keep_their_order_if_another_process_loads_their_script_between_them(
    server_world: World,
) -> None:
    world = server_world
    server, key = world.partition.server, world.partition.key
    earlier = server.stream(key, 2)
    earlier.push(w.enqueue_verb(["a"]))
    assert earlier.pull() == b"1"
    world.client.script_flush()  # as after a failover
    stream = server.stream(key, 2)  # a connection of its own
    ran = calls_of_scripts(world)

    stream.push(w.enqueue_verb(["b"]))
    wait_until(lambda: calls_of_scripts(world) > ran)
    world.client.script_load(script("enqueue").code)
    stream.push(w.enqueue_verb(["c"]))

    assert [stream.pull(), stream.pull()] == [b"1", b"1"]
    assert w.claim(world.own()).ids == [b"a", b"b", b"c"]
    stream.close()
    earlier.close()


def test_a_job_claimed_twice_by_one_life_is_finished_once(server_world: World) -> None:
    world = server_world
    owned = world.own()
    w.enqueue(world, ["ready", "booked", "late"])
    claims = w.claim(owned)
    undo_claim(world, b"ready", owned.epoch)
    w.retry(owned, [b"late"], delay_ms=60_000)
    twice = own.Claims(0, [*claims.ids] * 2, [*claims.bodies] * 2, (), (), 6)

    assert w.finish(owned, twice) == own.Finished(3, 3, 2)

    state = world.partition.observe()
    assert (state.jobs, state.backlog, state.delayed, state.bytes) == (0, 0, 0, 0)
    assert snapshot(world)["marks"] == {b"ready"}


def test_a_cancellation_whose_beginning_was_lost_begins_again(server_world: World) -> None:
    world = server_world
    owned = world.own()
    w.enqueue(world, ["running", "ready"])
    w.claim(owned, 1)
    world.partition.run(produce.cancel_group(b"none", b"start"))

    replied = world.partition.run(produce.cancel_group(b"g", b"books"))

    assert replied == (b"0", 1, 0)
    assert world.partition.run(produce.cancel_group(b"g", b"0")) == (b"", 0, 1)
    assert w.renew(owned).cancels == {b"running"}
    assert w.retry(owned, [b"running"]) == b"c"
