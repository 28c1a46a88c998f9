"""set_limit, pause_limit, remove_limit, limits: what people see and change."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool.models import Limit, LimitStatus
from queuepool.verbs import Verb
from queuepool.verbs.limits import verbs as limit
from tests.contract.limiting import Home, owner, permits, rate
from tests.contract.prompt import prompt
from tests.contract.world import World

MAIL = Limit("mail", rate=20, per_s=2, burst=4, concurrency=7)


def found(world: World, name: str = "mail") -> LimitStatus:
    status = world.partition.run(limit.find_limit(name))
    assert status is not None
    return status


def names_of(world: World, count: int = 100) -> list[str]:
    """Return the names of all limits, by pages."""
    names, after = list[str](), b""
    while True:
        after, page = world.partition.run(limit.limits(after, count))
        names += [status.name for status in page]
        if not after:
            return names


def test_a_limit_that_is_set_is_there_until_it_is_removed(world: World) -> None:
    run = world.partition.run
    assert run(limit.find_limit("mail")) is None

    changed = [run(limit.set_limit(MAIL)) for _ in range(2)]
    status = found(world)
    removed = [run(limit.remove_limit("mail")) for _ in range(2)]

    assert changed == [True, False]
    assert (status.set, status.declared, status.effective, status.paused) == (
        MAIL,
        None,
        MAIL,
        False,
    )
    assert removed == [True, None]
    assert names_of(world) == []
    assert world.in_memory or not list(world.client.scan_iter(world.partition.key + b"*"))


def test_one_that_people_removed_is_what_code_declares(world: World) -> None:
    home = Home(world, definition=rate(10))
    home.ask(owner(1))
    world.partition.run(limit.set_limit(MAIL))
    assert found(world).effective == MAIL

    assert world.partition.run(limit.remove_limit("mail")) is True

    assert found(world).set is None
    assert found(world).effective == Limit("mail", rate=10, burst=1)
    assert world.partition.run(limit.remove_limit("mail")) is False


@pytest.mark.parametrize("verb", [limit.pause_limit("no", on=False), limit.remove_limit("no")])
def test_a_name_that_nobody_knows_is_told_and_stays_unknown(world: World, verb: Verb[Any]) -> None:
    assert world.partition.run(verb) is None
    assert names_of(world) == []


def test_a_pause_stops_a_limit_before_anybody_asked_for_it(world: World) -> None:
    run = world.partition.run
    assert [run(limit.pause_limit("mail", on=True)) for _ in range(2)] == [True, False]
    assert (names_of(world), found(world).paused, found(world).unused) == (["mail"], True, True)

    world.advance(25 * 3600)
    told = Home(world, definition=rate(10)).ask(owner(1), 3, wanted=3)

    assert (told.paused, told.tokens) == (True, 0)
    assert (found(world).paused, found(world).unused) == (True, False)
    assert run(limit.pause_limit("mail", on=False)) is True
    assert Home(world, definition=rate(10)).ask(owner(2), 1).tokens == 1


@pytest.mark.parametrize("verb", [limit.pause_limit("mial", on=False), limit.remove_limit("mial")])
def test_a_pause_of_a_misspelt_limit_leaves_nothing_when_it_ends(
    world: World, verb: Verb[Any]
) -> None:
    world.partition.run(limit.pause_limit("mial", on=True))

    assert world.partition.run(verb) is True

    assert names_of(world) == []
    assert world.partition.run(verb) is None
    assert world.in_memory or not list(world.client.scan_iter(world.partition.key + b"*"))


def test_a_limit_that_was_set_stays_when_its_first_pause_ends(world: World) -> None:
    run = world.partition.run
    run(limit.pause_limit("mail", on=True))
    run(limit.set_limit(MAIL))

    assert run(limit.pause_limit("mail", on=False)) is True
    world.advance(25 * 3600)

    assert (names_of(world), found(world).set) == (["mail"], MAIL)


def test_an_undefined_limit_that_is_asked_for_is_shown_as_such(world: World) -> None:
    Home(world, "odd").ask(owner(1), 5)

    status = found(world, "odd")

    assert names_of(world) == ["odd"]
    assert (status.effective, status.pace, status.unused) == (None, None, False)


def test_a_pause_and_what_is_set_outlast_a_day_without_jobs(world: World) -> None:
    Home(world, "paused", permits(1)).ask(owner(1))
    Home(world, "asked", permits(1)).ask(owner(1))
    Home(world, "resumed", permits(1)).ask(owner(1))
    Home(world, definition=permits(1)).ask(owner(1))
    Home(world, "removed").ask(owner(1))
    run = world.partition.run
    run(limit.set_limit(Limit("removed", rate=1)))
    run(limit.remove_limit("removed"))
    assert [run(limit.pause_limit("paused", on=True)) for _ in range(2)] == [True, False]
    run(limit.set_limit(MAIL))
    run(limit.pause_limit("resumed", on=True))
    run(limit.pause_limit("resumed", on=False))

    world.advance(25 * 3600)

    assert run(limit.find_limit("asked")) is None
    assert found(world, "paused").paused
    assert found(world).set == MAIL
    assert run(limit.find_limit("resumed")) is None
    assert run(limit.find_limit("removed")) is None


def test_asks_keep_a_limit_known(world: World) -> None:
    home = Home(world, definition=rate(10))
    for _ in range(3):
        home.ask(owner(1))
        world.advance(20 * 3600)

    assert found(world).effective is not None


@prompt(0.5)
def test_what_is_granted_and_who_waits_is_shown(world: World) -> None:
    home = Home(world, definition="10:1000000:6:2:0:0")
    home.ask(owner(1), 6, wanted=2)
    home.ask(owner(2), 0, wanted=2)
    home.advance(1.2)
    home.ask(owner(1), 2, held=2, wanted=2)
    home.slow(30_000)

    status = found(world)

    assert (status.granted, status.granted_last_s) == (8, 6)
    assert (status.running, status.waiting, status.askers) == (2, 2, 2)
    assert 29_000 < status.wait_ms <= 30_000
    assert status.refused_ms > 0
    assert status.pace == 10


def test_resuming_ends_a_wait_as_told(world: World) -> None:
    home = Home(world, definition=rate(10))
    home.slow(3_600_000)
    assert home.ask(owner(1), 1).again_us <= home.ask(owner(1), 1).now_us + 5_000_000

    changed = [world.partition.run(limit.pause_limit("mail", on=False)) for _ in range(2)]

    assert changed == [True, False]
    assert found(world).wait_ms == 0
    assert home.ask(owner(1), 1).tokens == 1


def test_limits_are_listed_by_name_in_pages(world: World) -> None:
    names = [f"account:{n:03d}" for n in range(47)]
    for name in reversed(names):
        world.partition.run(limit.set_limit(Limit(name, rate=1)))

    assert names_of(world, 10) == names
    assert names_of(world, 47) == names
    assert names_of(world, 100) == names


def test_names_of_limits_that_are_forgotten_go_with_the_next_new_ones(world: World) -> None:
    for n in range(20):
        Home(world, f"old:{n}").ask(owner(1))
    world.advance(25 * 3600)
    for n in range(40):
        Home(world, f"new:{n:02d}").ask(owner(1))

    assert names_of(world) == [f"new:{n:02d}" for n in range(40)]
    if not world.in_memory:
        assert world.client.zcard(world.partition.key + b":ls") < 60


def test_a_definition_of_a_later_version_bounds_nothing_and_stops_nobody(world: World) -> None:
    home = Home(world, definition="2:10:1:1:1:1:window")

    assert home.ask(owner(1), 9, wanted=4).tokens == 9


NO_DEFINITIONS = pytest.mark.parametrize(
    "text",
    [
        *("", "x", "1:1:1:1:1:1:1", "0:0:1:0:0:0", "1:0:1:0:0:0", "0:5:1:1:0:0"),
        *("2000000:1:1:0:0:0", "1:1:2000000:0:0:0", "1:99999999999999:1:0:0:0", "1:1:1:0:5:3"),
    ],
)


@NO_DEFINITIONS
def test_what_is_no_definition_bounds_nothing_where_code_declares_it(
    world: World, text: str
) -> None:
    home = Home(world, definition=text)

    told = [home.ask(owner(1), 9, wanted=4) for _ in range(2)]
    home.slow(0)

    assert [(t.tokens, t.permits) for t in told] == [(9, 4)] * 2
    assert found(world).declared is None
    assert world.in_memory or not world.client.hexists(world.partition.key + b":li:mail", "code")


@NO_DEFINITIONS
def test_what_is_no_definition_is_not_set(world: World, text: str) -> None:
    verb: Verb[int] = Verb("set_limit", ["mail", text], int)

    assert world.partition.run(verb) == -1
    assert names_of(world) == []


@pytest.mark.parametrize("asks", [True, False], ids=["ask", "slow"])
def test_what_stands_where_names_are_kept_makes_way_for_them(
    server_world: World, asks: bool
) -> None:
    home, names = Home(server_world, definition=rate(10)), server_world.partition.key + b":ls"
    home.ask(owner(1))
    server_world.client.set(names, "not ours")
    home.advance(2 * 3600)

    _ = home.ask(owner(1)) if asks else home.slow(10)

    assert names_of(server_world) == ["mail"]


def test_a_name_that_no_limit_has_is_left_out(server_world: World) -> None:
    key = server_world.partition.key
    server_world.partition.run(limit.set_limit(MAIL))
    server_world.client.zadd(key + b":ls", {b"\xff\x00": 0, b"gone": 0})
    server_world.client.hset(key + b":li:\xff\x00", "set", "1:1:1:1:0:0")

    assert names_of(server_world, 1) == ["mail"]
