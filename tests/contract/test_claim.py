"""Whose turn it is: tiers by weight, lanes in turn, jobs in order."""

from collections import Counter

import pytest

from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World


def fill(world: World, group: bytes, n: int, tier: int = 2) -> None:
    """Enqueue n jobs of one group, named after group and tier."""
    ids = w.names(f"{group.decode()}-{tier}-", n)
    for i in range(0, n, 200):
        w.enqueue(world, ids[i : i + 200], group, tier=tier)


def lanes(claims: own.Claims) -> Counter[str]:
    """Count claimed jobs by group."""
    return Counter(i.decode().split("-")[0] for i in claims.ids)


def tiers(claims: own.Claims) -> Counter[int]:
    """Count claimed jobs by tier."""
    return Counter(int(i.decode().split("-")[1]) for i in claims.ids)


@pytest.mark.parametrize("limit", [1, 5, 12, 17])
def test_tiers_share_claims_by_weight(world: World, limit: int) -> None:
    owned = world.own()
    for tier in range(4):
        fill(world, b"g", 600, tier)
    served: Counter[int] = Counter()

    for _ in range(480 // limit):
        claims = w.claim(owned, limit)
        served += tiers(claims)
        w.finish(owned, claims)

    total = sum(served.values())
    for tier, weight in enumerate(w.WEIGHTS):
        assert served[tier] == pytest.approx(total * weight / 12, abs=limit / 12 + 2)


def test_a_share_that_a_tier_cannot_use_goes_to_the_others(world: World) -> None:
    owned = world.own()
    fill(world, b"g", 2, tier=0)
    fill(world, b"g", 50, tier=3)

    claims = w.claim(owned, 24)

    assert tiers(claims) == {0: 2, 3: 22}


def test_strict_order_empties_the_higher_tier_first(world: World) -> None:
    owned = world.own()
    for tier in (3, 1, 0):
        fill(world, b"g", 10, tier)

    claims = [w.claim(owned, 12, weights=w.STRICT) for _ in range(3)]

    assert [tiers(c) for c in claims] == [{0: 10, 1: 2}, {1: 8, 3: 4}, {3: 6}]


def test_a_tier_without_weight_gets_what_others_leave(world: World) -> None:
    owned = world.own()
    fill(world, b"g", 5, tier=0)
    fill(world, b"g", 5, tier=1)

    claims = w.claim(owned, 8, weights=(0, 1, 0, 0))

    assert tiers(claims) == {1: 5, 0: 3}


@pytest.mark.parametrize("batch", [1, 7, 32, 100])
def test_two_backlogged_groups_stay_within_two_quanta_and_a_batch(world: World, batch: int) -> None:
    owned = world.own()
    fill(world, b"one", 1000)
    fill(world, b"two", 1000)
    served: Counter[str] = Counter()

    for _ in range(600 // batch):
        claims = w.claim(owned, batch)
        served += lanes(claims)
        w.finish(owned, claims)
        assert abs(served["one"] - served["two"]) <= 2 * -(-batch // 2) + batch

    assert abs(served["one"] - served["two"]) <= 2


def test_a_small_group_behind_a_giant_is_served_in_the_next_batch(world: World) -> None:
    owned = world.own()
    fill(world, b"giant", 5000)
    w.finish(owned, w.claim(owned, 50))
    fill(world, b"small", 10)

    claims = w.claim(owned, 50)

    assert lanes(claims)["small"] == 10
    assert len(claims.ids) == 50


def test_many_groups_are_served_in_the_order_of_their_last_turn(world: World) -> None:
    owned = world.own()
    for n in range(60):
        fill(world, b"g%02d" % n, 3)

    first, second, third = (list(lanes(w.claim(owned, 40))) for _ in range(3))

    turns = [f"g{n:02d}" for n in range(60)]
    assert sorted(first) == turns[:20]  # a share is divided among at most 32 lanes: 2 jobs each
    assert sorted(second) == turns[20:40]
    assert sorted(third) == turns[40:]


@pytest.mark.parametrize(("groups", "each"), [(20, 25), (60, 10), (90, 7)])
def test_where_more_is_claimed_than_starts_a_turn_of_many_groups_is_shorter(
    world: World, groups: int, each: int
) -> None:
    owned = world.own()
    for n in range(groups):
        fill(world, b"g%02d" % n, 40)

    *turns, _cut = lanes(w.claim(owned, 200, starting=8)).values()

    assert set(turns) == {each}


def test_a_lone_group_fills_the_whole_claim(world: World) -> None:
    owned = world.own()
    fill(world, b"big", 500)
    fill(world, b"tiny", 1)

    claims = w.claim(owned, 100)

    assert lanes(claims) == {"big": 99, "tiny": 1}


def test_jobs_of_a_group_come_in_the_order_they_were_enqueued(world: World) -> None:
    owned = world.own()
    fill(world, b"a", 30)
    fill(world, b"b", 30)

    order = w.drain(owned)

    for group in "ab":
        assert [i for i in order if i.startswith(group)] == w.names(f"{group}-2-", 30)


def test_a_lane_that_waits_too_long_takes_a_turn_a_tier_up(world: World) -> None:
    owned = world.own()
    fill(world, b"low", 50, tier=3)
    fill(world, b"high", 500, tier=2)
    strict = {"weights": w.STRICT, "age_ms": 60_000}

    assert set(lanes(w.claim(owned, 10, **strict))) == {"high"}  # type: ignore[arg-type]
    world.advance(61)
    w.claim(owned, 10, **strict)  # type: ignore[arg-type]
    promoted = w.claim(owned, 10, **strict)  # type: ignore[arg-type]
    after = w.claim(owned, 10, **strict)  # type: ignore[arg-type]

    assert lanes(promoted) == {"low": 5, "high": 5}
    assert set(lanes(after)) == {"high"}  # one turn, not its million jobs
    assert world.partition.observe().ready == (0, 0, 465, 45)


def test_what_starts_is_booked_as_started_and_what_waits_is_not(world: World) -> None:
    owned = world.own()
    fill(world, b"g", 5)

    claims = w.claim(owned, 5, starting=2)

    started = [world.partition.status(i.decode()).at_ms is not None for i in claims.ids]
    assert started == [True, True, False, False, False]
    assert w.book(owned) == list(claims.ids)


def test_a_book_lists_what_runs_in_the_order_it_began(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["d", "c", "b", "a", "e"])
    w.claim(owned, 1, starting=1)
    w.claim(owned, 4, starting=0)

    owned.run(own.start(owned.ownership, [b"c"]))
    begun = owned.run(own.start(owned.ownership, [b"b", b"a", b"b"]))
    w.enqueue(world, ["0"])
    w.claim(owned, 1, starting=1)

    assert begun == 3
    assert w.book(owned) == [b"d", b"c", b"b", b"a", b"0", b"e"]


def test_a_job_that_crashed_never_starts_unasked(world: World) -> None:
    first = world.own(lease_s=5)
    fill(world, b"g", 3)
    suspect, _waited = w.claim(first, 2, starting=1).ids
    world.advance(6)
    owned = world.own()
    w.recover(owned)

    claims = w.claim(owned, 3)

    assert list(claims.crashes) == [b"1", b"0", None]
    assert world.partition.status(suspect.decode()).at_ms is None
    assert owned.run(own.start(owned.ownership, [suspect])) == 1
    assert world.partition.status(suspect.decode()).at_ms is not None


def test_an_empty_partition_gives_nothing(world: World) -> None:
    claims = w.claim(world.own())

    assert (claims.ids, claims.bodies, claims.taken) == ([], [], 0)
    assert claims.now_ms > 1_600_000_000_000


def test_a_claim_tells_bodies_attempts_and_the_time(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b"], payload=b'{"n":1}')
    w.claim(owned)
    w.retry(owned, [b"a"])
    w.promote(owned)

    claims = w.claim(owned)

    assert list(claims.attempts) == [b"1"]
    assert claims.bodies[0].endswith(b'["t",{"n":1}]')
    assert int(claims.bodies[0][2:13], 16) <= claims.now_ms


def test_places_of_cancelled_jobs_count_as_taken(world: World) -> None:
    owned = world.own()
    fill(world, b"g", 6)
    for n in range(4):
        world.partition.cancel(f"g-2-{n:05d}")

    first, second = w.claim(owned, 4), w.claim(owned, 4)

    assert (len(first.ids), first.taken) == (0, 4)
    assert (len(second.ids), second.taken) == (2, 2)


def test_a_group_that_is_about_to_end_has_two_turns_in_a_row(world: World) -> None:
    owned = world.own()
    fill(world, b"giant", 500)
    fill(world, b"small", 10)

    order = [next(iter(lanes(w.claim(owned, 1)))) for _ in range(16)]

    assert order == ["giant", *["small", "small", "giant"] * 5]


def test_two_large_groups_alternate(world: World) -> None:
    owned = world.own()
    fill(world, b"a", 500)
    fill(world, b"b", 500)

    order = [next(iter(lanes(w.claim(owned, 1)))) for _ in range(8)]

    assert order == ["a", "b"] * 4
