"""A claim is bounded in bytes as well as in jobs, and stays fair."""

from collections import Counter
from random import Random

import pytest

from queuepool.models import Tier
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol import codec
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import STRICT, World, memory_world

KB = 1000


def body(kb: float) -> bytes:
    return b'{"x":"%s"}' % (b"x" * int(kb * KB))


def sizes(claims: own.Claims) -> int:
    return sum(map(len, claims.bodies))


def claim_all(
    owned: OwnedPartition, *, limit: int = 200, max_bytes: int = 1000 * KB
) -> list[own.Claims]:
    """Claim and finish until nothing is ready; returns the claims."""
    all_claims: list[own.Claims] = []
    while True:
        claims = w.claim(owned, limit, max_bytes=max_bytes)
        if not claims.taken:
            return all_claims
        w.finish(owned, claims)
        all_claims.append(claims)


def test_a_claim_takes_what_fits_and_asks_to_be_repeated(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 30), payload=body(100))

    claims = claim_all(owned, limit=20, max_bytes=1000 * KB)

    assert [i.decode() for c in claims for i in c.ids] == w.names("j", 30)
    assert all(0 < sizes(c) <= 1000 * KB for c in claims)
    assert [c.taken for c in claims[:-1]] == [20] * (len(claims) - 1)
    assert len(claims) == 4


def test_one_job_is_claimed_whatever_its_size(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["large", "larger"], payload=body(300))

    claims = claim_all(owned, limit=20, max_bytes=100 * KB)

    assert [c.ids for c in claims] == [[b"large"], [b"larger"]]


def test_small_jobs_are_claimed_as_ever(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("j", 150), payload=body(1))

    claims = w.claim(owned, 200)

    assert (len(claims.ids), claims.taken) == (150, 150)


def test_one_large_job_keeps_only_those_back_that_do_not_fit_beside_it(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], payload=body(1))
    w.enqueue(world, ["large"], payload=body(900))
    w.enqueue(world, ["c", "d"], payload=body(1))
    w.enqueue(world, ["large too"], payload=body(900))

    claims = claim_all(owned, limit=20, max_bytes=1000 * KB)

    assert [i for c in claims for i in c.ids] == [b"a", b"b", b"large", b"c", b"d", b"large too"]
    assert len(claims) <= 4
    assert all(sizes(c) <= 1000 * KB for c in claims)


def test_tiers_keep_their_shares_when_bytes_bound_the_claims(world: World) -> None:
    owned = world.own()
    for tier in range(4):
        w.enqueue(world, w.names(f"t{tier}-", 60), b"g%d" % tier, tier=tier, payload=body(100))
    taken: Counter[int] = Counter()

    for _ in range(24):
        claims = w.claim(owned, 20, max_bytes=350 * KB)
        taken.update(int(b[1:2]) for b in claims.bodies)
        w.finish(owned, claims)

    assert 48 <= taken.total() <= 72
    for tier, weight in enumerate(w.WEIGHTS):
        assert abs(taken[tier] - taken.total() * weight / 12) <= 3, taken


def test_a_small_group_behind_a_group_of_large_jobs_has_its_turn_in_the_next_claim(
    world: World,
) -> None:
    owned = world.own()
    w.enqueue(world, w.names("large", 50), b"large", payload=body(250))
    w.claim(owned, 20, max_bytes=1000 * KB)
    w.enqueue(world, ["tiny"], b"tiny")

    claims = [w.claim(owned, 20, max_bytes=1000 * KB) for _ in range(2)]

    assert b"tiny" in [*claims[0].ids, *claims[1].ids]


def test_large_groups_take_turns_when_bytes_bound_the_claims(world: World) -> None:
    owned = world.own()
    for name in ("a", "b", "c"):
        w.enqueue(world, w.names(name, 40), name.encode(), payload=body(150))
    order: list[bytes] = []

    for _ in range(10):
        order += w.claim(owned, 40, max_bytes=500 * KB).ids

    counts = Counter(i[:1] for i in order)
    assert max(counts.values()) - min(counts.values()) <= 3, counts


def test_large_jobs_that_nothing_but_a_replay_made_ready_are_bounded_too(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("dead", 10), payload=body(100))
    w.bury(owned, w.claim(owned, 200, max_bytes=2**30).ids)
    w.renew(owned)  # nothing is awake: what was large is forgotten

    world.partition.replay(w.names("dead", 10))
    replayed = claim_all(owned, limit=200, max_bytes=500 * KB)

    assert sum(len(c.ids) for c in replayed) == 10
    assert all(sizes(c) <= 500 * KB for c in replayed)


def test_large_jobs_that_were_delayed_or_dead_are_bounded_too(world: World) -> None:
    owned = world.own()
    w.enqueue(world, w.names("late", 10), payload=body(100), delay_ms=1000)
    w.enqueue(world, w.names("dead", 10), b"d", payload=body(100))
    w.bury(owned, w.claim(owned, 200, max_bytes=2**30).ids)
    w.renew(owned)  # nothing is awake: what was large is forgotten
    w.enqueue(world, ["tiny"], b"t")
    world.advance(2)

    w.promote(owned)
    claims = claim_all(owned, limit=200, max_bytes=500 * KB)
    world.partition.replay(w.names("dead", 10))
    replayed = claim_all(owned, limit=200, max_bytes=500 * KB)

    assert sum(len(c.ids) for c in claims) == 11
    assert sum(len(c.ids) for c in replayed) == 10
    assert all(sizes(c) <= 500 * KB for c in [*claims, *replayed])


def test_bodies_of_a_version_before_are_bounded(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, w.names("j", 30), payload=body(100))
    server_world.client.hdel(server_world.partition.key + b":c", "largest")
    w.enqueue(server_world, ["new"])

    claims = claim_all(owned, limit=200, max_bytes=1000 * KB)

    assert sum(len(c.ids) for c in claims) == 31
    assert all(sizes(c) <= 1000 * KB for c in claims)


def test_bodies_that_came_without_the_script_are_bounded_too(server_world: World) -> None:
    owned = server_world.own()
    w.enqueue(server_world, w.names("j", 60))
    for job_id in w.names("j", 60):
        large = codec.encode_tail(7, b"g") + b'["t",%s]' % body(100)
        server_world.client.hset(
            server_world.partition.key + b":j", job_id, b"1200000000001" + large
        )

    claims = [w.claim(owned, 20, max_bytes=1000 * KB) for _ in range(3)]

    assert all(0 < sizes(c) <= 1000 * KB for c in claims)
    server_world.damaged = True


def test_what_a_claim_puts_back_keeps_its_place_and_its_turn(server_world: World) -> None:
    owned = server_world.own()
    for group in (b"a", b"b"):
        w.enqueue(server_world, w.names(group.decode(), 5), group, payload=body(100))
    client, counters = server_world.client, server_world.partition.key + b":c"
    client.hset(counters, "largest", 1)  # so that all of them are planned

    first = w.claim(owned, 20, max_bytes=250 * KB)
    known = client.hget(counters, "largest")
    claims = [first, *claim_all(owned, limit=20, max_bytes=250 * KB)]

    assert known is None  # from here on, sizes are looked at
    for group in (b"a", b"b"):
        ids = [i.decode() for c in claims for i in c.ids if i.startswith(group)]
        assert ids == w.names(group.decode(), 5)
    assert all(0 < sizes(c) <= 250 * KB for c in claims)


def test_sizes_are_looked_at_only_when_large_jobs_may_be_there(server_world: World) -> None:
    owned = server_world.own()

    def looked() -> int:
        stats = server_world.client.info("commandstats")
        return int(stats.get("cmdstat_hstrlen", {"calls": 0})["calls"])

    def claim_small(name: str) -> int:
        before = looked()
        w.enqueue(server_world, w.names(name, 150), payload=body(1))
        w.finish(owned, w.claim(owned, 150, max_bytes=1000 * KB))
        return looked() - before

    w.enqueue(server_world, ["late"], b"late", payload=body(900), delay_ms=1_000)
    while_it_is_delayed = claim_small("a")
    server_world.advance(2)
    w.promote(owned)
    while_it_is_ready = claim_small("b")
    claim_all(owned)
    w.renew(owned)
    when_it_is_gone = claim_small("c")

    assert (while_it_is_delayed, when_it_is_gone) == (0, 0)
    assert while_it_is_ready > 0


@pytest.mark.parametrize("seed", range(6))
def test_memory_and_servers_bound_a_claim_alike(server_world: World, seed: int) -> None:
    random, memory = Random(seed), memory_world()
    worlds = (server_world, memory)
    lives = [world.own() for world in worlds]
    for n in range(60):
        group, tier = b"g%d" % random.randrange(5), random.randrange(4)
        payload = body(random.choice((0.1, 1, 30, 200)))
        for world in worlds:
            w.enqueue(world, [f"j{n}"], group, tier=tier, payload=payload)
        if n % 7 == 0:
            for world in worlds:
                world.partition.cancel(f"j{n - n % 3}")

    for _ in range(200):
        limit, budget = random.choice((1, 7, 40, 200)), random.choice((50, 300, 1000)) * KB
        found = [w.claim(owned, limit, max_bytes=budget) for owned in lives]
        assert (found[0].ids, found[0].taken) == (found[1].ids, found[1].taken)
        assert sizes(found[0]) <= budget or len(found[0].ids) == 1
        if not found[0].taken:
            break

    assert not server_world.partition.observe().backlog


@pytest.mark.parametrize("tier", [Tier.HIGH, Tier.DEFAULT])
def test_a_lane_that_was_emptied_gets_its_seat_again_with_what_is_put_back(
    server_world: World, tier: Tier
) -> None:
    owned, base = server_world.own(), server_world.partition.key
    w.enqueue(server_world, w.names("j", 3), payload=body(100))
    w.enqueue(server_world, ["low"], b"low", tier=Tier.LOW, payload=body(100))
    server_world.partition.run(produce.configure(b"g", tier=tier, max_running=9))
    server_world.client.hset(base + b":c", "largest", 1)

    claims = w.claim(owned, 4, max_bytes=150 * KB, weights=STRICT)

    assert claims.ids == [b"j00000"]
    assert server_world.client.llen(base + b":ring:%d" % tier) == 1
    assert server_world.partition.audit().clean
    assert w.drain(owned) == ["j00001", "j00002", "low"]
