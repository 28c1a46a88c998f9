"""Values that no script of ours writes: they stop no verb, and an audit finds what is left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from queuepool.errors import FencedError, MovedError, QueuePoolError, ScriptError
from queuepool.protocol import codec
from queuepool.verbs import Verb, fields
from queuepool.verbs.acl import keys_of
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.busy import busy
from tests.contract.world import World
from tests.sampling import one_in

pytestmark = pytest.mark.either_engine

KB = 1000
NASTY = (b"x", b"", b"nan", b"inf", b"-inf", b"1e300", b"2.5", b"-9", b"9223372036854775807")
PARTS = 3  # of these, one for each field in `make test`
FIELDS = (
    *[("c", f) for f in ("r0", "r2", "k0", "k2", "bytes", "dead_bytes", "largest", "cut", "aside")],
    *[("c", f) for f in ("dn", "dn_since", "enqueued", "done", "failed", "died", "recovered")],
    *[("g:g", f) for f in ("total", "left", "done", "dead", "delayed", "cancelled_at", "created")],
    *[("g:dead", f) for f in ("total", "left", "dead", "evicted", "discarded")],
    *[("o", f) for f in ("expires", "heartbeat", "beat", "past", "workers", "applied")],
    *[
        ("li:cap", f)
        for f in ("set", "code", "paused", "tat", "until", "told", "pace", "cut", "seen")
    ],
    *[("li:cap", f) for f in ("granted", "since", "n0", "n1", "used", "askers", "summed", "at")],
    *[("lc:cap", "8:1"), ("lp:9", ""), ("lp:7", "")],
    *[("ck", f) for f in ("target", "at", "leader")],
    *[("mr", f) for f in ("from", "to", "007")],
)
_REMOVE = "for _, key in ipairs(redis.call('KEYS', ARGV[4])) do redis.call('UNLINK', key) end\n"
# With its expiry. ARGV: a pattern; the prefix that each key loses, and the one that it gets.
_COPY = """
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
    redis.call('COPY', key, ARGV[3] .. string.sub(key, #ARGV[2] + 1))
end
"""


def key(world: World, suffix: str) -> bytes:
    return world.partition.key + b":" + suffix.encode()


def plant(world: World, body: bytes, *ids: bytes, lane: str = "q:2:g") -> None:
    """Put jobs into a lane without our scripts."""
    world.damaged = True
    for job_id in ids:
        world.client.hset(key(world, "j"), job_id, body)
        world.client.rpush(key(world, lane), job_id)
    world.client.rpush(key(world, "ring:2"), b"2%011x" % 1 + lane.encode().split(b":", 2)[2])


def kept(world: World) -> Callable[[], object]:
    """Keep a copy of every key on the server itself; returns what puts them all back, quickly."""
    ours = world.partition.key + b"*"
    world.client.eval(_COPY, 0, ours, "", "kept:")
    back = world.client.register_script(_REMOVE + _COPY)
    return lambda: back(args=[b"kept:" + ours, "kept:", "", ours])


CASES = [
    (suffix, field, NASTY[(number + part) % PARTS :: PARTS])
    for number, (suffix, field) in enumerate(FIELDS)
    for part in range(PARTS)
]


@pytest.mark.parametrize(("suffix", "field", "values"), one_in(PARTS, CASES), ids=str)
def test_every_verb_goes_on_and_its_reply_can_be_read(
    server_world: World, suffix: str, field: str, values: Sequence[bytes]
) -> None:
    scene, put_back = busy(server_world), kept(server_world)
    server_world.damaged = True
    failed = []
    readers = [v for v in scene.verbs() if suffix.partition(":")[0] in keys_of(v.script)]

    for value in values:
        for verb in readers:
            put_back()
            server_world.client.hset(key(server_world, suffix), field, value)
            [reply] = server_world.partition.server.run(scene.base(verb), [verb])
            try:
                verb.read(reply)
            except (FencedError, MovedError):
                pass
            except QueuePoolError as error:
                failed.append((value, verb.script, str(error)))

    assert not failed


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e300"])
def test_a_counter_that_cannot_be_counted_with_begins_anew_with_the_next_jobs(
    server_world: World, value: str
) -> None:
    counters = ("r0", "r1", "r2", "r3", "bytes", "enqueued", "duplicate")
    for tier, counter in enumerate(counters):
        server_world.client.hset(key(server_world, "c"), counter, value)
        assert w.enqueue(server_world, [f"j{tier}"] * 2, tier=tier % 4) == b"10"
        assert int(server_world.client.hget(key(server_world, "c"), counter)) > 0
    server_world.damaged = True


@pytest.mark.parametrize("fields", [("total", "left", "delayed"), ("left",), ("delayed",)])
def test_totals_of_a_group_that_are_none_begin_anew_with_its_next_jobs(
    server_world: World, fields: tuple[str, ...]
) -> None:
    damaged = dict.fromkeys(fields, "x")
    server_world.client.hset(key(server_world, "g:g"), mapping=damaged)

    assert w.enqueue(server_world, ["a"]) == b"1"

    group = server_world.partition.group(b"g")
    assert (group.total, group.left, group.delayed) == (1, 1, 0)


@pytest.mark.parametrize(("delay_ms", "token"), [(0, b"w"), (60_000, b"d")])
def test_what_stands_where_tokens_wait_makes_way_for_one(
    server_world: World, delay_ms: int, token: bytes
) -> None:
    server_world.client.set(key(server_world, "wk"), "not ours")

    w.enqueue(server_world, ["a"], delay_ms=delay_ms)

    assert server_world.client.lrange(key(server_world, "wk"), 0, -1) == [token]


def test_an_observation_reads_no_body_of_an_absurd_size(server_world: World) -> None:
    header = b"1200000000001" + codec.encode_tail(7, b"g")
    plant(server_world, header + b" " * 17_000_000, b"huge")

    assert server_world.partition.observe().oldest_ms == 0


def test_an_observation_finds_the_oldest_job_whatever_is_known_of_sizes(
    server_world: World,
) -> None:
    w.enqueue(server_world, ["a"], b"one")
    server_world.advance(60.0)
    w.enqueue(server_world, ["b"], b"two")

    by_size = server_world.partition.observe().oldest_ms
    server_world.client.hset(key(server_world, "c"), "largest", 65537)
    one_by_one = server_world.partition.observe().oldest_ms

    assert 60_000 <= by_size <= one_by_one < by_size + 30_000


@pytest.mark.parametrize("strange", [1, 150])
def test_an_observation_is_of_our_own_counters_and_short(server_world: World, strange: int) -> None:
    world = server_world
    world.damaged = True
    w.enqueue(world, ["a"])
    counters = world.client.hgetall(key(world, "c"))
    said = [*(f"x{n}" for n in range(strange)), "probe"]
    world.client.hset(key(world, "c"), mapping=dict.fromkeys(said, b"7" * 1000))

    reply: Any = world.partition.run(Verb("observe", (), lambda r: r))
    state = world.partition.observe()

    known = fields(reply[1])
    assert all(len(value) <= 32 for value in known.values())
    assert known["probe"] == b"7" * 32
    assert len(known) == len(counters) + 1 + (strange if strange < 100 else 0)
    assert (state.counters, state.backlog) == ({"enqueued": 1}, 1)


def test_an_observation_counts_no_ends_where_something_else_stands(server_world: World) -> None:
    server_world.client.set(key(server_world, "fo"), "not ours")
    server_world.damaged = True

    assert server_world.partition.observe().untold == 0


def test_a_set_of_ended_ids_that_is_none_makes_way_for_new_jobs(server_world: World) -> None:
    for suffix in ("dn:0", "dn:1"):
        server_world.client.set(key(server_world, suffix), "not ours")
    server_world.client.hset(key(server_world, "c"), "dn_since", int(time.time() * 1000))

    assert w.enqueue(server_world, ["a"]) == b"1"

    assert not server_world.client.exists(key(server_world, "dn:0"), key(server_world, "dn:1"))


def test_a_lane_makes_no_way_for_jobs_that_get_no_seat(server_world: World) -> None:
    for suffix in ("q:2:g", "ring:2"):
        server_world.client.set(key(server_world, suffix), "not ours")

    with pytest.raises(ScriptError, match="Another program writes"):
        w.enqueue(server_world, ["a"])

    assert server_world.client.get(key(server_world, "q:2:g")) == b"not ours"
    server_world.damaged = True


def test_what_an_owner_hears_of_cancels_is_of_its_own_jobs(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"])
    w.claim(owned)
    server_world.partition.cancel("a")
    junk = {f"junk{n}": "x" for n in range(3000)}
    server_world.client.hset(key(server_world, "cn"), mapping=junk)

    renewal = w.renew(owned)
    found = server_world.partition.audit(repair=True).stray

    assert renewal.cancels == {b"a"}
    assert found > 0
    server_world.damaged = True


def test_seats_that_are_none_are_dropped_and_more_is_looked_at_at_once(server_world: World) -> None:
    owned = server_world.own()
    for seat in [b"", b"2", b"x" * 50, b"9" + b"0" * 11 + b"g", *[b"2%011xno" % 1] * 10]:
        server_world.client.rpush(key(server_world, "ring:2"), seat)
    w.enqueue(server_world, ["a"])

    claims = [w.claim(owned, 7) for _ in range(3)]

    assert [c.taken for c in claims] == [7, 7, 1]
    assert claims[2].ids == [b"a"]


def test_credits_that_are_none_give_no_tier_more_than_its_share(server_world: World) -> None:
    owned = server_world.own()
    for tier in (0, 3):
        w.enqueue(server_world, w.names(f"t{tier}-", 20), tier=tier)
    server_world.client.hset(key(server_world, "c"), "k3", 1_000_000)

    claims = [w.claim(owned, 1) for _ in range(14)]  # two rounds of weights 6 and 1

    assert Counter(c.ids[0][:2] for c in claims) == {b"t0": 12, b"t3": 2}


def test_a_claim_in_strict_order_leaves_the_credits_alone(server_world: World) -> None:
    owned = server_world.own()
    for tier in (0, 3):
        w.enqueue(server_world, [f"t{tier}"], tier=tier)
    server_world.client.hset(key(server_world, "c"), "k3", 5)

    w.claim(owned, 1, weights=w.STRICT)

    assert server_world.client.hget(key(server_world, "c"), "k3") == b"5"


def test_a_lane_with_two_seats_counts_each_job_once(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, w.names("j", 10))
    [seat] = server_world.client.lrange(key(server_world, "ring:2"), 0, -1)
    server_world.client.rpush(key(server_world, "ring:2"), seat)

    claims = w.claim(owned, 20)

    assert len(claims.ids) == 10
    w.finish(owned, claims)
    w.claim(owned, 20)


def test_bodies_that_came_without_the_script_are_bounded_too(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["small"])
    large = b"1200000000001" + codec.encode_tail(7, b"g") + b'["t",{"x":"%s"}]' % (b"x" * 400 * KB)
    plant(server_world, large, *[b"large-%d" % n for n in range(5)])
    w.enqueue(server_world, ["last"])
    ids: list[bytes] = []

    for _ in range(6):
        claims = w.claim(owned, 20, max_bytes=1000 * KB)
        assert sum(map(len, claims.bodies)) <= 1000 * KB
        ids += claims.ids

    assert ids == [b"small", *[b"large-%d" % n for n in range(5)], b"last"]


def test_one_absurd_body_travels_without_its_end(server_world: World) -> None:
    owned = server_world.own()
    header = b"1200000000001" + codec.encode_tail(7, b"g")
    plant(server_world, header + b'["t",{}]' + b" " * (64 * 1024**2), b"huge")
    w.enqueue(server_world, ["a"])

    claims = [w.claim(owned, 20) for _ in range(2)]

    assert [c.ids for c in claims] == [[b"huge"], [b"a"]]
    assert claims[0].bodies[0].startswith(header)
    assert len(claims[0].bodies[0]) < 100


def test_a_name_longer_than_any_goes_with_its_body(server_world: World) -> None:
    owned = server_world.own()
    plant(server_world, b"1200000000001" + w.tail(b"g"), b"x" * 3_000_000, b"y" * 5000)
    w.enqueue(server_world, ["a"])

    claims = w.claim(owned, 20)

    assert claims.ids == [b"a"]
    assert server_world.partition.observe().jobs == 1


@pytest.mark.parametrize(
    "value", [b"x", b"-3", b"1e3", b"9" * 30, b"x" * 100_000, b""], ids=range(6)
)
def test_counts_of_a_job_that_are_none_travel_as_such(server_world: World, value: bytes) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"])
    server_world.client.hset(key(server_world, "at"), "a", value)
    server_world.client.hset(key(server_world, "cr"), "b", value)
    w.renew(owned)

    claims = w.claim(owned)

    assert [own.read_count(n) for n in claims.attempts] == [None, 0]
    assert [own.read_count(n) for n in claims.crashes] == [0, None]
    assert all(len(n or b"") <= 20 for n in [*claims.attempts, *claims.crashes])
    assert w.bury(owned, claims.ids) == b"bb"
    assert int(server_world.client.hget(key(server_world, "at"), "a")) <= 1
    server_world.damaged = True


def test_a_false_count_of_bytes_keeps_producers_out_until_the_next_renewal(
    server_world: World,
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a"])
    w.bury(owned, w.claim(owned).ids)
    server_world.client.hset(key(server_world, "c"), "bytes", 10**14)

    w.renew(owned)

    assert w.enqueue(server_world, ["b"]) == b"1"
    assert server_world.partition.audit().clean


def test_false_counts_of_bytes_are_0_once_a_renewal_finds_nothing(server_world: World) -> None:
    owned, counters = server_world.own(), key(server_world, "c")
    server_world.client.hset(counters, mapping={"bytes": 10**14, "dead_bytes": 10**14})

    w.renew(owned)

    assert server_world.client.hmget(counters, "bytes", "dead_bytes") == [b"0", b"0"]


def test_an_audit_counts_bytes_and_counters_anew(server_world: World) -> None:
    w.enqueue(server_world, ["a"])
    w.enqueue(server_world, ["late"], delay_ms=60_000)
    counters: dict[str, Any] = {"bytes": 10**14, "dead_bytes": "x", "junk": 1, "r2": "nan"}
    server_world.client.hset(key(server_world, "c"), mapping=counters)

    found = server_world.partition.audit(repair=True)

    assert found.miscounted == 4
    assert server_world.partition.audit().clean
