"""The groups of a partition, listed in bounded parts: by size, by age, wherever their jobs wait."""

from collections.abc import Iterator

import pytest

from queuepool.models.groups import Best, GroupLoad, GroupOrder
from queuepool.routing.slots import group_of
from queuepool.verbs.operator import grouping
from queuepool.verbs.producer import tenants
from queuepool.verbs.producer import verbs as produce
from tests.contract import world as w
from tests.contract.world import World

SIZE, AGE = GroupOrder.SIZE, GroupOrder.AGE
TENANTS = (b"acme", b"other")


def parts(
    world: World, order: GroupOrder = SIZE, *, look: int = grouping.LOOK, least: int = 0
) -> Iterator[grouping.Part]:
    places = grouping.ALL
    for _ in range(5000):
        verb = grouping.groups(0, order, places, least=least, look=look)
        part = world.partition.run(verb)
        yield part
        places = part.following
        if not places:
            return
    raise AssertionError("it never ends")


def listed(world: World, order: GroupOrder = SIZE, **options: int) -> dict[bytes, GroupLoad]:
    return {one.group: one for part in parts(world, order, **options) for one in part.groups}


def fill(world: World) -> dict[bytes, int]:
    """Enqueue a group of each kind; return how many jobs each has."""
    sizes = {b"plain": 3, b"other-tier": 9, b"held": 4, b"parked": 5, b"capped": 6}
    for name, n in sizes.items():
        tier = 0 if name == b"other-tier" else 2
        limits = b"mail" if name == b"parked" else b""
        w.enqueue(world, w.names(name.decode(), n), name, tier=tier, limits=limits)
    world.partition.run(produce.configure(b"held", hold=True))
    world.partition.run(produce.configure(b"capped", max_running=1))
    for tenant in TENANTS:
        for n in range(3):
            name = group_of(b"k%d" % n, tenant)
            sizes[name] = n + 1
            w.enqueue(world, w.names(f"{tenant.decode()}-{n}-", n + 1), name)
    world.partition.run(tenants.configure(b"other", hold=True))
    w.claim(world.own(), 8)  # which meets the holds
    w.enqueue(world, w.names("later", 7), b"delayed", delay_ms=60_000)
    return sizes | {b"delayed": 7}


@pytest.mark.parametrize("look", [1, 3, 500])
@pytest.mark.parametrize("order", [SIZE, AGE])
def test_groups_are_listed_wherever_their_jobs_wait(
    world: World, order: GroupOrder, look: int
) -> None:
    sizes = fill(world)

    found = listed(world, order, look=look)

    assert {name: one.left for name, one in found.items()} == sizes
    assert found[b"held"].held_ms is not None
    assert found[b"parked"].parked == 5
    assert found[group_of(b"k2", b"acme")].tenant == "acme"


@pytest.mark.parametrize("look", [1, 500])
def test_only_groups_that_are_better_are_listed(world: World, look: int) -> None:
    for name, n in ((b"small", 1), (b"middle", 2), (b"large", 3)):
        w.enqueue(world, w.names(name.decode(), n), name)
        world.advance(1)
    created = {name: one.created_ms for name, one in listed(world).items()}

    assert set(listed(world, SIZE, least=2, look=look)) == {b"large"}
    assert set(listed(world, AGE, least=created[b"large"], look=look)) == {b"small", b"middle"}
    assert set(listed(world, AGE, least=created[b"middle"], look=look)) == {b"small"}


def test_a_part_names_a_group_and_a_list_once(world: World) -> None:
    for tier in (0, 2):
        w.enqueue(world, w.names(f"t{tier}-", 2), b"both", tier=tier)
    for n in range(6):
        w.enqueue(world, [f"tenant-{n}"], group_of(b"k%d" % n, b"acme"), tier=n % 3)

    (whole,) = parts(world)
    assert sorted(one.group for one in whole.groups).count(b"both") == 1


def test_a_list_that_is_to_be_looked_at_is_named_once(server_world: World) -> None:
    w.enqueue(server_world, ["other"], b"other", tier=0)
    w.enqueue(server_world, ["tenants"], group_of(b"k", b"acme"), tier=0)

    places = [(b"ring:0", b""), (b"tr:0:acme", b"")]
    part = server_world.partition.run(grouping.groups(0, SIZE, places, look=3))
    assert [name for name, _ in part.following] == [b"ring:0", b"tr:0:acme"]


@pytest.mark.parametrize("order", [SIZE, AGE])
def test_a_group_without_work_left_is_not_listed(world: World, order: GroupOrder) -> None:
    owned = world.own()
    w.enqueue(world, ["a"], b"ended")
    w.finish(owned, w.claim(owned))
    w.enqueue(world, ["c"], b"cancelled")
    world.partition.cancel("c")  # its group has a seat until the next claim

    assert listed(world, order) == {}


@pytest.mark.parametrize("look", [1, 500])
def test_groups_whose_jobs_are_all_in_flight_are_listed(world: World, look: int) -> None:
    w.enqueue(world, ["a", "b"], b"first")
    w.claim(world.own(lease_s=1))
    world.advance(2)
    w.enqueue(world, ["c"], b"second")
    w.claim(world.own())  # while what the first owner had waits to be recovered

    found = listed(world, look=look)

    assert {name: one.left for name, one in found.items()} == {b"first": 2, b"second": 1}


def test_a_large_group_is_found_among_very_many_delayed_jobs(server_world: World) -> None:
    world = server_world
    for begin in range(0, 20_000, 1000):
        names = w.names(f"l{begin}-", 1000)
        w.enqueue(world, names, b"large", delay_ms=60_000 + begin)
    w.enqueue(world, w.names("s", 200), b"small", delay_ms=90_000)

    looked = [part.looked for part in parts(world)]
    found = listed(world)

    assert found[b"large"].delayed == 20_000
    assert found[b"small"].delayed == 200
    assert max(looked) <= 250
    assert sum(looked) < 10_500  # of one job in two


def test_turns_of_a_tenant_with_a_seat_and_a_hold_are_to_be_looked_at_once(world: World) -> None:
    w.enqueue(world, ["a"], group_of(b"k", b"acme"))
    world.partition.run(tenants.configure(b"acme", hold=True))

    following = [next(parts(world, look=look)).following for look in range(1, 15)]

    assert any((b"tr:2:acme", b"") in some for some in following)
    assert all(len(set(some)) == len(some) for some in following)


def test_groups_with_settings_are_places_that_a_call_looks_at(world: World) -> None:
    for n in range(30):
        w.enqueue(world, [f"j{n}"], b"g%d" % n)
        world.partition.run(produce.configure(b"g%d" % n, hold=True))

    part = world.partition.run(grouping.groups(0, SIZE, [(b"mg", b"")]))

    assert len(part.groups) == 30
    assert part.looked == 31


def test_one_call_looks_at_so_many_places_and_no_more(world: World) -> None:
    for n in range(30):
        w.enqueue(world, [f"j{n}"], b"g%d" % n)

    looked = [part.looked for part in parts(world, look=10)]

    assert max(looked) <= 11
    assert sum(looked) >= 30


@pytest.mark.parametrize("claims", [1, 4])
def test_none_is_missed_while_others_have_their_turns(world: World, claims: int) -> None:
    if world.in_memory:
        pytest.skip("nothing moves within a call of its rings")
    for n in range(60):
        w.enqueue(world, w.names(f"g{n}-", 40), b"g%d" % n)
    owned, found = world.own(), set[bytes]()

    for part in parts(world, look=10):
        found |= {one.group for one in part.groups}
        w.claim(owned, claims)  # as many lanes as jobs go to the back of the ring

    assert len(found) == 60


@pytest.mark.slow
def test_many_groups_are_looked_at_in_bounded_calls(server_world: World) -> None:
    world, few, many = server_world, 500, 20_000
    for begin in range(0, many, few):
        calls = [
            (world.partition.key, w.enqueue_verb([f"j{n}"], b"g%d" % n))
            for n in range(begin, begin + few)
        ]
        world.partition.server.run_many(calls)
    w.enqueue(world, w.names("large", 50), b"g7777")

    best, parts_ = Best(SIZE, 3), list[grouping.Part]()
    places = grouping.ALL
    while places:
        part = world.partition.run(grouping.groups(0, SIZE, places, least=best.least))
        best.add(part.groups)
        parts_.append(part)
        places = part.following

    assert (best.first()[0].group, best.first()[0].left) == (b"g7777", 51)
    assert many <= sum(part.looked for part in parts_) < 1.01 * many
    assert max(part.looked for part in parts_) <= grouping.LOOK + 1
    assert sum(len(part.groups) for part in parts_) <= 2 * grouping.LOOK  # others are not sent
    world.client.flushall()  # or what checks each group afterwards takes long


def test_none_is_missed_when_the_last_one_that_was_seen_is_gone(server_world: World) -> None:
    world, ring = server_world, server_world.partition.key + b":ring:2"
    for n in range(60):
        w.enqueue(world, w.names(f"g{n}-", 40), b"g%d" % n)
    owned, found = world.own(), set[bytes]()

    for part in parts(world, look=10):
        found |= {one.group for one in part.groups}
        for seat in world.client.lrange(ring, 0, -1) if part.groups else ():
            if seat[12:] == part.groups[-1].group:
                world.client.lrem(ring, 1, seat)
        w.claim(owned, 3)

    assert len(found) == 60
    world.damaged = True


def test_what_the_last_call_has_seen_is_not_seen_again_while_one_has_its_turn(
    server_world: World,
) -> None:
    world = server_world
    for n in range(60):
        w.enqueue(world, w.names(f"g{n}-", 40), b"g%d" % n)
    owned, last = world.own(), set[bytes]()

    for part in parts(world, look=10):
        some = {one.group for one in part.groups}
        assert not some & last
        last = some
        w.claim(owned, 1)


def test_a_look_at_large_delayed_jobs_ends_after_some_megabytes(server_world: World) -> None:
    payload = b'"%s"' % (b"x" * 200_000)
    for n in range(6):
        names = w.names(f"d{n}-", 10)
        w.enqueue(server_world, names, b"g%d" % n, delay_ms=60_000 + n, payload=payload)

    delayed = grouping.groups(0, SIZE, [(b"dl", b"")], look=500)
    part = server_world.partition.run(delayed)

    assert part.following, "50 of the 60 jobs are 10 MB"
    assert set(listed(server_world)) == {b"g%d" % n for n in range(6)}
