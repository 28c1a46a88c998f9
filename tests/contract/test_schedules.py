"""Schedules on memory and on real servers: defined, paused, fired once, noted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pytest

from queuepool.models import Schedule, ScheduleStatus
from queuepool.models.schedules import Fired
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.schedules import verbs
from queuepool.verbs.schedules.verbs import NotFired
from tests.contract import world as w
from tests.contract.world import World
from tests.waiting import wait_until

T = TypeVar("T")
NIGHTLY = Schedule("nightly", "t", {"x": 1}, cron="0 3 * * *", timezone="Europe/Berlin")
MINUTELY = Schedule("minutely", "t", every="1m")
GROUP = b"g"


def ask(world: World, verb: Verb[T]) -> T:
    """Run a verb on what the system shares."""
    return verb.read(world.partition.server.run(world.system, [verb])[0])


def one(world: World, name: str = "nightly") -> ScheduleStatus:
    (status,) = ask(world, verbs.schedules(name=name)).found
    return status


def fire(
    world: World,
    due_ms: int,
    *,
    epoch: int = 5,
    overlap: bool = True,
    most: int = 1000,
    last_id: str = "",
    **wish: Any,
) -> Any:
    """Fire a time of a schedule; its job's id is made of it."""
    tail = w.tail(GROUP)
    runs: list[Any] = [2, GROUP, 0, 1, f"nightly:{due_ms}", tail]
    key = wish.get("unique", b"")
    wishes = (1, b"e", key, 0, b"") if key else ()
    limits = {"max_depth": most, "max_bytes": 2**40}
    verb = produce.enqueue(runs, wishes, jobs=1, size_bytes=13 + len(tail), **limits)
    return world.partition.run(
        verbs.fire("nightly", due_ms, epoch, verb, overlap=overlap, last_id=last_id)
    )


def wait(world: World) -> None:
    """Let some milliseconds pass; what is stored of schedules does not age."""
    begin = ask(world, verbs.schedules()).now_ms
    world.advance(60)
    wait_until(lambda: ask(world, verbs.schedules()).now_ms > begin + 5)


def test_what_is_set_is_read_with_who_and_since_when(world: World) -> None:
    assert ask(world, verbs.schedules()).found == ()

    assert ask(world, verbs.set_schedule(NIGHTLY, by="me\nand you")) == 1

    read = ask(world, verbs.schedules())
    (status,) = read.found
    assert status.schedule == NIGHTLY
    assert (status.by, status.paused_ms, status.problem) == ("me and you", 0, "")
    assert 0 < status.since_ms <= read.now_ms
    assert read.version == status.version >= status.since_ms
    assert status.state == Fired()


def test_the_same_again_changes_nothing_another_counts_from_now(world: World) -> None:
    ask(world, verbs.set_schedule(NIGHTLY))
    first = one(world)
    world.advance(60)

    assert ask(world, verbs.set_schedule(NIGHTLY, by="other")) == 0
    same = one(world)
    assert same.version == first.version
    changed = Schedule("nightly", "t", cron="0 4 * * *")
    assert ask(world, verbs.set_schedule(changed)) == 1

    now = one(world)
    assert now.schedule == changed
    assert now.version > first.version
    assert now.since_ms > same.since_ms


def test_a_change_of_anything_but_its_times_leaves_those_due_that_are_not_settled(
    world: World,
) -> None:
    epoch = ask(world, lead.lead("n", lease_ms=10**9, address="")).epoch
    ask(world, verbs.set_schedule(MINUTELY))
    first = one(world, "minutely")
    wait(world)
    later = replace(MINUTELY, payload={"cron": "0 3 * * *"}, timeout_s=7.0, missed="all")

    assert ask(world, verbs.set_schedule(later)) == 1
    second = one(world, "minutely")
    assert (second.schedule, second.since_ms) == (later, first.since_ms)
    assert second.version > first.version

    through_ms = first.since_ms + 4
    ask(world, verbs.note_fired(epoch, {"minutely": Fired(first.version, through_ms + 9)}))
    ask(world, verbs.set_schedule(MINUTELY))
    assert one(world, "minutely").since_ms == first.since_ms  # noted of another version
    noted = Fired(one(world, "minutely").version, through_ms)
    ask(world, verbs.note_fired(epoch, {"minutely": noted}))
    ask(world, verbs.set_schedule(later))
    assert one(world, "minutely").since_ms == one(world, "minutely").settled_ms == through_ms

    ahead = Fired(one(world, "minutely").version, first.since_ms + 10**9)
    ask(world, verbs.note_fired(epoch, {"minutely": ahead}))
    ask(world, verbs.set_schedule(MINUTELY))  # after the clock was put back
    last = one(world, "minutely")
    assert through_ms < last.since_ms <= last.version


@pytest.mark.parametrize(
    "other",
    [
        {"every": 61.0},
        {"every": None, "cron": "* * * * *"},
        {"partition_key": "elsewhere"},
        {"pool": "video"},
        {"tenant": "acme"},
    ],
)
def test_other_times_or_another_place_count_from_now(world: World, other: dict[str, Any]) -> None:
    ask(world, verbs.set_schedule(MINUTELY))
    first = one(world, "minutely")
    wait(world)

    ask(world, verbs.set_schedule(replace(MINUTELY, **other)))

    assert one(world, "minutely").since_ms > first.since_ms


def test_another_zone_counts_from_now(world: World) -> None:
    ask(world, verbs.set_schedule(NIGHTLY))
    first = one(world)
    wait(world)

    ask(world, verbs.set_schedule(replace(NIGHTLY, timezone="Asia/Seoul")))

    assert one(world).since_ms > first.since_ms


def test_what_a_newer_coordinator_notes_besides_is_left_out(server_world: World) -> None:
    ask(server_world, verbs.set_schedule(NIGHTLY))
    version = one(server_world).version
    noted = f"{version}:2:3:4:5:6:7:8:more"
    server_world.client.hset(server_world.system + b":fired", "nightly", noted)

    assert one(server_world).state == Fired(version, 2, 3, 4, 5, 6, 7)


@pytest.mark.parametrize("size", [41, 70_000])
def test_a_name_that_none_may_have_is_cut(server_world: World, size: int) -> None:
    server_world.client.hset(server_world.system + b":schedules", b"\xff" * size, b"x")

    (found,) = ask(server_world, verbs.schedules()).found

    assert len(found.name) <= 100
    assert found.problem


def test_a_known_version_sends_nothing(world: World) -> None:
    ask(world, verbs.set_schedule(NIGHTLY))
    known = ask(world, verbs.schedules()).version

    again = ask(world, verbs.schedules(known))
    assert again.unchanged
    assert again.found == ()
    [reply] = world.partition.server.run(world.system, [verbs.schedules(known)])
    assert reply[1:] == [known, [], []]
    ask(world, verbs.set_schedule(MINUTELY))
    newer = ask(world, verbs.schedules(known))
    assert [status.name for status in newer.found] == ["minutely", "nightly"]
    assert newer.version > known


def test_a_pause_survives_a_change_and_its_end_counts_from_then(world: World) -> None:
    ask(world, verbs.set_schedule(NIGHTLY))
    since = one(world).since_ms

    assert ask(world, verbs.pause_schedule("nightly", on=True, by="me")) == 1
    assert ask(world, verbs.pause_schedule("nightly", on=True)) == 0
    paused = one(world)
    assert paused.paused_ms >= since
    assert paused.since_ms == since
    assert paused.by == "me"
    ask(world, verbs.set_schedule(Schedule("nightly", "t", every=60)))
    assert one(world).paused_ms > 0
    world.advance(5)
    before = one(world).since_ms

    assert ask(world, verbs.pause_schedule("nightly", on=False)) == 1
    assert ask(world, verbs.pause_schedule("nightly", on=False)) == 0
    assert one(world).paused_ms == 0
    assert one(world).since_ms > before
    assert ask(world, verbs.pause_schedule("none", on=True)) == -1


def test_what_is_removed_is_gone_with_what_was_noted(world: World) -> None:
    ask(world, verbs.set_schedule(NIGHTLY))
    version = ask(world, verbs.schedules()).version
    epoch = ask(world, lead.lead("n", lease_ms=60_000, address="")).epoch
    ask(world, verbs.note_fired(epoch, {"nightly": Fired(version, 9, 8, 7, 6, 5, 4)}))

    assert ask(world, verbs.remove_schedule("nightly"))
    assert not ask(world, verbs.remove_schedule("nightly"))

    assert ask(world, verbs.schedules(name="nightly")).found == ()
    assert ask(world, verbs.schedules()).version > version
    ask(world, verbs.set_schedule(NIGHTLY))
    assert one(world).state == Fired()


def test_there_are_no_more_than_may_be(world: World) -> None:
    few = verbs.set_schedule(NIGHTLY)
    other = verbs.set_schedule(MINUTELY)
    for verb in (few, other):
        verb.args[3] = 1  # type: ignore[index]  # a list, as the wrapper makes it

    assert ask(world, few) == 1
    assert ask(world, other) == -1
    changed = verbs.set_schedule(Schedule("nightly", "t", every=60))
    changed.args[3] = 1  # type: ignore[index]
    assert ask(world, changed) == 1


def test_only_the_leader_notes_and_only_what_is_there(world: World) -> None:
    ask(world, verbs.set_schedule(NIGHTLY))
    epoch = ask(world, lead.lead("n", lease_ms=60_000, address="")).epoch
    done = Fired(1, 2, 3, 4, 5, 6, 7)

    assert ask(world, verbs.note_fired(epoch - 1, {"nightly": done})) == -1
    assert one(world).state == Fired()
    assert ask(world, verbs.note_fired(epoch, {"nightly": done, "none": done})) == 1
    assert one(world).state == done
    assert [each.name for each in ask(world, verbs.schedules()).found] == ["nightly"]


def test_a_time_fires_once_also_long_after_its_job_has_ended(world: World) -> None:
    assert fire(world, 1000) == b"1"
    owned = world.own()
    w.finish(owned, w.claim(owned))

    assert fire(world, 1000) == NotFired("LATER", "1000")
    assert fire(world, 999) == NotFired("LATER", "1000")
    assert fire(world, 2000) == b"1"
    assert w.claim(owned).ids == [b"nightly:2000"]


def test_what_fired_is_remembered_when_ended_ids_are_forgotten(world: World) -> None:
    assert fire(world, 1000) == b"1"
    owned = world.own(lease_s=10**6)
    w.finish(owned, w.claim(owned))

    world.advance(300)

    assert fire(world, 1000) == NotFired("LATER", "1000")


def test_a_replaced_leader_fires_nothing(world: World) -> None:
    command: dict[str, Any] = {"partition": 0, "target_workers": 0, "reason": "", "expires_ms": 9}
    world.partition.run(lead.command(7, 0, type="NOOP", **command))

    assert fire(world, 1000, epoch=6) == NotFired("FENCED", "7")
    assert fire(world, 1000, epoch=7) == b"1"
    assert world.counters()["enqueued"] == 1


def test_no_job_beside_one_that_has_not_ended(world: World) -> None:
    assert fire(world, 1000, overlap=False) == b"1"

    assert fire(world, 2000, overlap=False) == NotFired("BUSY", "nightly:1000")
    owned = world.own()
    claims = w.claim(owned)
    assert fire(world, 2000, overlap=False) == NotFired("BUSY", "nightly:1000")
    assert fire(world, 3000) == b"1"  # where it may overlap
    w.finish(owned, claims)
    assert fire(world, 4000, overlap=False) == NotFired("BUSY", "nightly:3000")
    last = w.claim(owned)
    w.bury(owned, last.ids)
    assert fire(world, 4000, overlap=False) == b"1"


def test_no_job_beside_one_that_came_from_another_partition(world: World) -> None:
    w.enqueue(world, ["nightly:1000"])
    assert fire(world, 2000, overlap=False, last_id="nightly:1000") == NotFired(
        "BUSY", "nightly:1000"
    )
    assert fire(world, 2000, overlap=True, last_id="nightly:1000") == b"1"
    assert fire(world, 3000, overlap=False, last_id="nightly:1000") == NotFired(
        "BUSY", "nightly:2000"
    ), "what the partition fired itself is later"
    assert fire(world, 3000, overlap=False, last_id="nightly:900") == NotFired(
        "BUSY", "nightly:2000"
    )


def test_no_job_beside_one_that_came_back_with_its_slot(world: World) -> None:
    owned = world.own()
    assert fire(world, 1000, overlap=False) == b"1"
    w.finish(owned, w.claim(owned))
    w.enqueue(world, ["nightly:2000"])  # fired elsewhere, while the slot was there

    def fire_beside() -> object:
        return fire(world, 3000, overlap=False, last_id="nightly:2000")

    assert fire_beside() == NotFired("BUSY", "nightly:2000")
    claims = w.claim(owned)
    assert fire_beside() == NotFired("BUSY", "nightly:2000")
    w.bury(owned, claims.ids)
    assert fire_beside() == b"1"


def test_a_full_partition_leaves_the_time_to_fire(world: World) -> None:
    w.enqueue(world, ["a"])

    assert isinstance(fire(world, 1000, most=1), produce.Full)
    assert fire(world, 1000, most=2) == b"1"
    assert isinstance(fire(world, 2000, most=2), produce.Full)


def test_a_job_that_a_unique_key_keeps_out_has_fired(world: World) -> None:
    w.enqueue(world, ["a"], GROUP, unique={0: b"key"})

    kept = fire(world, 1000, unique=b"key")
    assert isinstance(kept, produce.Conflicts)
    assert kept.by == (b"a",)
    assert fire(world, 1000, unique=b"key") == NotFired("LATER", "1000")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"x", "damaged"),
        (b"1:1:0:me\n{", "cannot be read"),
        (
            b'1:1:0:me\n{"name":"other","task":"t","payload":{},"partition_key":"k","every":9}',
            "name",
        ),
        (b'1:1:0:me\n{"name":"nightly","task":"t","payload":{},"partition_key":"k"}', "either"),
        (b"1:1:0:me\n" + b"[" * 3000, "cannot be read"),
        (b"1:1:0:me\n5", "cannot be read"),
    ],
)
def test_a_damaged_one_says_so_and_can_be_replaced(
    server_world: World, text: bytes, problem: str
) -> None:
    ask(server_world, verbs.set_schedule(MINUTELY))
    server_world.client.hset(server_world.system + b":schedules", "nightly", text)
    server_world.client.hset(server_world.system + b":fired", "nightly", "1:x")

    found = ask(server_world, verbs.schedules()).found

    assert [status.schedule for status in found] == [MINUTELY, None]
    assert problem in found[1].problem
    assert ask(server_world, verbs.set_schedule(NIGHTLY)) == 1
    assert one(server_world).schedule == NIGHTLY
