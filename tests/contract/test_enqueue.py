"""Accepting jobs: once each, within limits, now or later."""

from queuepool.models import JobState
from queuepool.protocol import codec
from queuepool.verbs.producer.verbs import Full
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World


def test_jobs_are_accepted_once_and_one_by_one(world: World) -> None:
    first = w.enqueue(world, ["a", "b"])

    again = w.enqueue(world, ["a", "c", "b"])

    assert (first, again) == (b"11", b"010")
    assert world.partition.observe().ready == (0, 0, 3, 0)
    assert world.counters() == {"enqueued": 3, "duplicate": 2}


def test_duplicates_add_up(world: World) -> None:
    w.enqueue(world, ["a"])

    for _ in range(2):
        w.enqueue(world, ["a", "a"])

    assert world.counters() == {"enqueued": 1, "duplicate": 4}


def test_an_id_twice_in_one_call_is_accepted_once(world: World) -> None:
    assert w.enqueue(world, ["a", "a"]) == b"10"
    assert world.partition.group(b"g").total == 1


def test_duplicates_take_no_bytes(world: World) -> None:
    w.enqueue(world, ["a"], payload=b"1")
    before = world.partition.observe().bytes

    w.enqueue(world, ["a", "b"], payload=b"22")

    assert world.partition.observe().bytes == before + len(w.tail(b"g", b"22")) + 13


def test_a_repeated_call_finds_jobs_that_ended_in_between(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["done", "asked", "ready", "later"])
    claims = w.claim(owned, 2)
    w.finish(owned, claims, 0)
    world.partition.cancel("asked")
    w.retry(owned, [b"asked"])
    world.partition.cancel("ready")

    again = w.enqueue(world, ["done", "asked", "ready", "later"])

    assert again == b"0000"
    assert w.drain(owned) == ["later"]


def test_ids_that_ended_are_forgotten_after_two_minutes(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.drain(owned)
    w.enqueue(world, ["held"])  # keeps the partition from being empty

    world.advance(121)

    assert world.partition.status("a").state is JobState.UNKNOWN
    assert w.enqueue(world, ["a"]) == b"1"


def test_a_full_partition_refuses_the_whole_call_and_writes_nothing(world: World) -> None:
    w.enqueue(world, ["a", "b"])
    before = snapshot(world)

    by_depth = w.enqueue(world, ["c", "d"], max_depth=3)
    by_bytes = w.enqueue(world, ["c"], max_bytes=world.partition.observe().bytes + 10)

    size = 2 * (13 + len(w.tail(b"g")))
    assert by_depth == by_bytes == Full(2, size)
    assert snapshot(world) == before


def test_a_partition_takes_exactly_its_maximum(world: World) -> None:
    size = 13 + len(w.tail(b"g"))

    assert w.enqueue(world, ["a", "b"], max_depth=2, max_bytes=2 * size) == b"11"
    assert isinstance(w.enqueue(world, ["c"], max_depth=2), Full)
    assert isinstance(w.enqueue(world, ["c"], max_bytes=3 * size - 1), Full)


def test_a_group_keeps_its_order_over_calls_and_batches(world: World) -> None:
    owned = world.own()
    ids = w.names("j", 500)
    for i in range(0, 500, 125):
        w.enqueue(world, list(reversed(ids[i : i + 125])))

    assert w.drain(owned) == [x for i in range(0, 500, 125) for x in reversed(ids[i : i + 125])]


def test_delayed_jobs_wait_for_their_time_and_then_join_the_tail(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["late"], delay_ms=100_000)
    w.enqueue(world, ["sooner"], delay_ms=50_000)
    w.enqueue(world, ["now"])

    early = w.promote(owned)
    world.advance(51)
    due = w.promote(owned)

    assert (early.promoted, due.promoted) == (0, 1)
    assert early.next_due_ms is not None
    assert 0 < early.next_due_ms <= 50_000
    assert world.partition.status("late").state is JobState.DELAYED
    assert w.drain(owned) == ["now", "sooner"]
    world.advance(50)
    assert w.promote(owned).next_due_ms is None
    assert w.drain(owned) == ["late"]


def test_jobs_of_several_groups_that_are_due_in_turn_go_to_their_own_lanes(world: World) -> None:
    groups = [b"a", b"ab", b"a", b"a", b"b", b"ab", b"a"]
    for place, group in enumerate(groups):
        w.enqueue(world, [f"j{place}"], group, tier=place % 2 + 2, delay_ms=1_000 + place)
    world.partition.cancel_group(b"b")
    world.advance(2)
    owned = world.own()

    assert w.promote(owned).promoted == 6
    found: dict[tuple[int, bytes], list[bytes]] = {}
    claims = w.claim(owned)
    for job_id, body in zip(claims.ids, claims.bodies, strict=True):
        found.setdefault((int(body[1:2]), codec.read_group(body)), []).append(job_id)
    assert found == {
        (2, b"a"): [b"j0", b"j2", b"j6"],
        (3, b"a"): [b"j3"],
        (3, b"ab"): [b"j1", b"j5"],
    }


def test_promote_takes_a_hundred_and_says_that_more_are_due(world: World) -> None:
    from queuepool.verbs.owner import verbs as own

    owned = world.own()
    w.enqueue(world, w.names("d", 150), delay_ms=1_000)
    world.advance(2)

    first, second = (owned.run(own.promote(owned.ownership)) for _ in range(2))

    assert (first.promoted, first.next_due_ms) == (100, 0)
    assert (second.promoted, second.next_due_ms) == (50, None)
    assert w.drain(owned) == w.names("d", 150)


def test_tokens_wake_the_owner_only_when_there_is_news(world: World) -> None:
    def tokens() -> list[bytes]:
        found: list[bytes] = snapshot(world)["tokens"]
        return found

    w.enqueue(world, ["a"])
    w.enqueue(world, ["b"])
    assert tokens() == [b"w"]

    w.enqueue(world, ["c"], delay_ms=9_000)
    w.enqueue(world, ["d"], delay_ms=20_000)
    assert tokens() == [b"w", b"d"]


def test_any_bytes_are_a_group(world: World) -> None:
    owned = world.own()
    groups = [b"*", b"{}:[a]", bytes(range(64)), b"\xff" * 64]
    for n, group in enumerate(groups):
        w.enqueue(world, [f"j{n}"], group)

    totals = [world.partition.group(group).ready for group in groups]

    assert totals == [1, 1, 1, 1]
    assert w.drain(owned) == ["j0", "j1", "j2", "j3"]


def test_a_group_counts_anew_when_it_gets_work_after_its_end(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a"])
    w.drain(owned)
    w.enqueue(world, ["b"])

    world.advance(3600)  # longer than the ended group would have been kept

    status = world.partition.group(b"g")
    assert (status.total, status.done, status.ready) == (2, 1, 1)
    assert status.finished_ms is None
    assert w.drain(owned) == ["b"]


def test_dead_jobs_take_no_room(world: World) -> None:
    owned = world.own()
    w.enqueue(world, ["a", "b", "c"])
    w.bury(owned, w.claim(owned).ids)
    size = 13 + len(w.tail(b"g"))

    assert w.enqueue(world, ["d", "e"], max_depth=2, max_bytes=2 * size) == b"11"
    assert w.enqueue(world, ["f"], max_depth=2) == Full(2, 2 * size)
    assert w.enqueue(world, ["f"], max_bytes=3 * size - 1) == Full(2, 2 * size)
    assert world.partition.observe().bytes == 5 * size
    assert w.enqueue(world, ["f"], max_depth=3, max_bytes=3 * size) == b"1"
    world.partition.replay(["a"])
    assert isinstance(w.enqueue(world, ["h"], max_depth=4), Full)
