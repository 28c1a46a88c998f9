"""Each verb works with the rights of its role on real servers; nothing beyond is let through."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queuepool import QueuePool
from queuepool.errors import NotConfirmedError, QueuePoolError, ScriptError, UnconfirmableError
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.partitions.route import Leave
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from queuepool.verbs.acl import ROLES
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.operator import verbs as operate
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import test_conservation as walking
from tests.contract import world as w
from tests.contract.conftest import check_invariants
from tests.security.roles import GuardedServer, RoleServer, guarded_server

STEPS = 400


@pytest.fixture
def world(guarded: GuardedServer, request: pytest.FixtureRequest) -> Iterator[w.World]:
    """A partition where every verb is sent by the user of its role, and an eye of the admin's.

    A parameter names the roles that there are.
    """
    key = guarded.space.partition(0)
    eye = redis.Redis.from_url(guarded.url("admin"))
    server = RoleServer(guarded, getattr(request, "param", tuple(ROLES)))
    yield w.World(Partition(0, key, server), None, eye)
    server.close()
    eye.close()


@pytest.mark.parametrize("world", [tuple(ROLES), ("ops",)], ids=["roles", "ops"], indirect=True)
def test_a_random_walk_over_all_verbs_is_never_refused(
    world: w.World, guarded: GuardedServer
) -> None:
    walker, walk, pause = walking.Walker(world), walking.Walk(1), threading.Event()
    replies = []

    for _ in range(STEPS):
        pause.wait(0.001)
        replies.append(walk.step()(walker))  # an error that is not FENCED ends the test
    check_invariants(world)

    assert guarded.denied() == []
    assert sum(reply not in (None, "fenced", "held") for reply in replies) > STEPS / 3


def as_role(guarded: GuardedServer, role: str) -> QueuePool:
    """Return a pool of a role."""
    topology = build({"main": guarded.url(role)}, 1, "")
    return QueuePool(
        config=PoolConfig(
            topology=topology, keyspace=guarded.space, timeout_s=30.0, retry_for_s=0.0
        )
    )


def works(ownership: own.Ownership) -> dict[str, Verb[Any]]:
    """Return calls that write, those of the owner with the true nonce, which all roles may read."""
    runs: list[Any] = [2, b"g", 0, 1, b"new", w.tail(b"g")]
    acks = {b"g": own.Acks(9, [b"id"], [(b"id", 1000, b"1")])}
    return {
        "enqueue": produce.enqueue(runs, jobs=1, size_bytes=50, max_depth=9, max_bytes=999),
        "cancel": produce.cancel("id"),
        "acquire": own.acquire(0, ownership.nonce, lease_ms=1000, host="me"),
        "claim": own.claim(ownership, 1, starting=1, promote_after_ms=0, weights=w.WEIGHTS),
        "finish": own.finish(ownership, acks),
        "bury": own.bury(ownership, [(b"id", b"{}")], **w.KEEP),
        "command": lead.command(
            9, 1, type="SCALE_UP", partition=0, target_workers=512, reason="", expires_ms=9
        ),
        "manual": lead.set_manual(0, 512, ttl_ms=999),
        "lead": lead.lead("mine", lease_ms=1000, address="me"),
        "replay": operate.replay(["dead"]),
        "discard": operate.discard(["dead"]),
        "audit": operate.audit(b"0", repair=True),
    }


SYSTEM = {"manual", "lead"}
REFUSED = {
    "producer": (
        "acquire", "claim", "finish", "bury", "command", "manual", "lead", "discard",
    ),
    "consumer": ("command", "manual", "lead"),
    "coordinator": ("cancel", "acquire", "claim", "finish", "bury", "replay", "discard"),
    "ops-read": tuple(works(own.Ownership(0, "", 0))),
}  # fmt: skip
# A server refuses single commands of a script, and keeps what the script did before. So a role
# can leave traces in what it may write for another reason: a producer in lanes and counters.
UNTOUCHED = {"producer": re.compile(rb".*:(o|fl:\d+|dead|r:.*|cmd|ck|leader|manual|route|j)$")}


@pytest.mark.parametrize("role", REFUSED)
def test_what_is_not_of_a_role_is_refused(
    guarded: GuardedServer, world: w.World, role: str
) -> None:
    # Something for each verb to write: a dead job, a running one, a ready one, a lost due time.
    w.enqueue(world, ["dead", "id", "ready"])
    owned = world.own()
    assert w.claim(owned, 2).ids == [b"dead", b"id"]
    assert w.bury(owned, [b"dead"]) == b"b"
    world.client.zadd(world.partition.key + b":dl", {"hollow": 1})
    before = contents(world, role)

    with as_role(guarded, role) as pool:
        for name in REFUSED[role]:
            server, system = pool.system
            key = system if name in SYSTEM else pool.partition(0).key
            (reply,) = server.run(key, [works(owned.ownership)[name]])

            assert isinstance(reply, ScriptError), (name, reply)
            assert "queuepool acl" in str(reply), reply

    assert len(before) > 3
    assert contents(world, role) == before


def test_who_may_not_make_the_record_reads_it_and_others_make_it(guarded: GuardedServer) -> None:
    with as_role(guarded, "producer") as producer:
        producer.enqueue("t", partition_key="a")
        assert producer.route.read(Leave.RECORD) is None

        producer.route.state.again_s = 0.0
        producer.enqueue("t", partition_key="a")
        assert guarded.denied() == []

        with as_role(guarded, "ops-read") as looking:
            assert looking.route.read() is None
        with as_role(guarded, "consumer") as consumer:
            made = consumer.route.read(Leave.RECORD)
        with as_role(guarded, "coordinator") as coordinator:
            assert coordinator.route.read(Leave.RECORD) == made
        with as_role(guarded, "ops-read") as looking:
            assert looking.route.read() == made

        producer.route.state.again_s = 0.0
        producer.enqueue("t", partition_key="a")
        assert producer.route.state.verified


def contents(world: w.World, role: str) -> dict[bytes, Any]:
    """Return every key, with its value, that a role must not change."""
    matter = UNTOUCHED.get(role, re.compile(b".*"))
    return {key: world.client.dump(key) for key in world.client.scan_iter() if matter.match(key)}


NEVER = (
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("FLUSHALL",),
    ("FLUSHDB",),
    ("CONFIG", "SET", "maxmemory", "1"),
    ("DEBUG", "SLEEP", "0"),
    ("EVAL", "return 1", "0"),
    ("SCRIPT", "FLUSH"),
    ("FUNCTION", "LIST"),
    ("ACL", "LIST"),
    ("MONITOR",),
    ("SHUTDOWN",),
    ("REPLICAOF", "NO", "ONE"),
    ("GET", "elsewhere"),
    ("HGET", "/other-stage/queue/{partition_0}/main:j", "id"),
    ("PUBLISH", "channel", "text"),
)


@pytest.mark.parametrize("role", ROLES)
def test_no_role_may_do_what_no_script_needs(shared: GuardedServer, role: str) -> None:
    with shared.client(role) as client:
        for words in NEVER:
            if (role, words[0]) == ("ops", "SCAN"):
                continue  # by which moves find groups without jobs
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*words)


@pytest.mark.parametrize("role", ["producer", "consumer", "coordinator", "ops-read"])
def test_only_operators_read_the_configuration(shared: GuardedServer, role: str) -> None:
    with shared.client("ops") as client:
        assert client.config_get("appendonly")
    with shared.client(role) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.config_get("appendonly")


def test_a_script_of_ones_own_gets_no_further_than_its_role(shared: GuardedServer) -> None:
    """Whoever may load scripts may load any: what holds is the commands and keys."""
    base = shared.space.partition(0).decode()
    steal = "#!lua\nreturn redis.call('HSET', KEYS[1] .. ':o', 'nonce', 'me')"
    forge = "#!lua\nreturn redis.call('SET', KEYS[1] .. ':r:id', '1')"
    wipe = "#!lua\nreturn redis.call('FLUSHALL')"
    with shared.client("producer") as client:
        for source in (steal, forge, wipe):
            sha = client.script_load(source)
            with pytest.raises(redis.ResponseError, match=r"permission|can't"):
                client.evalsha(sha, 1, base)


def test_nobody_gets_in_without_a_user(shared: GuardedServer) -> None:
    with (
        redis.Redis.from_url(shared.server.url) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


def test_ops_read_sees_everything_and_a_look_at_the_lead_is_no_lead(
    guarded: GuardedServer, world: w.World
) -> None:
    w.enqueue(world, ["id"])

    with as_role(guarded, "ops-read") as pool:
        partition = pool.partition(0)
        server, key = pool.system
        look = lead.who_leads()

        assert partition.observe().backlog == 1
        assert partition.dead() == []
        assert partition.audit().clean
        assert partition.status("id").state == "ready"
        assert not look.read(server.run(key, [look])[0]).leading


def test_an_owner_under_its_own_user_hears_of_work(guarded: GuardedServer) -> None:
    with as_role(guarded, "consumer") as mine, as_role(guarded, "producer") as theirs:
        owned = mine.partition(0).acquire(lease_s=60.0, host="me")
        assert isinstance(owned, OwnedPartition)
        bell = mine.partition(0).server.doorbell(mine.partition(0).key)
        try:
            bell.wait(0.0)
            theirs.enqueue("t", {}, partition_key="k")

            assert bell.wait(30.0) == b"w"
        finally:
            bell.close()


def test_the_error_of_a_missing_right_is_one_of_the_library(guarded: GuardedServer) -> None:
    with as_role(guarded, "ops-read") as pool, pytest.raises(QueuePoolError, match="refused"):
        pool.enqueue("t", {}, partition_key="k")


@pytest.mark.parametrize("fsynced", [True, False])
def test_a_producer_may_ask_for_fsyncs_when_it_was_granted(
    engine_binary: Path, stage: str, tmp_path: Path, fsynced: bool
) -> None:
    always = ("--appendonly", "yes", "--appendfsync", "always")
    with (
        guarded_server(engine_binary, stage, tmp_path, *always, fsynced=fsynced) as guarded,
        as_role(guarded, "producer") as pool,
    ):
        if fsynced:
            job = pool.enqueue("t", {}, partition_key="k", durability="fsynced")
            assert job.status == "accepted"
        else:
            with pytest.raises(UnconfirmableError, match=r"\+config\|get"):
                pool.enqueue("t", {}, partition_key="k", durability="fsynced")


def test_a_producer_may_wait_for_replicas(guarded: GuardedServer) -> None:
    with as_role(guarded, "producer") as pool, pytest.raises(NotConfirmedError):
        pool.enqueue("t", {}, partition_key="k", durability="replicated")  # there is none
    assert guarded.denied() == []
