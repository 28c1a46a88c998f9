"""The scaling record: one version after another, and nobody overwrites what he has not seen."""

from typing import TypeVar

import pytest

from queuepool.errors import InvalidInputError
from queuepool.models import ScalingRecord
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from tests.contract.world import World

T = TypeVar("T")


def ask(world: World, verb: Verb[T]) -> T:
    """Run a verb on what the system shares."""
    return verb.read(world.partition.server.run(world.system, [verb])[0])


def put(world: World, version: int, nonce: str, **values: str) -> tuple[bool, int]:
    return ask(world, lead.set_policy(version, nonce, values, by="me", reason="why"))


def test_at_first_nothing_is_set(world: World) -> None:
    assert ask(world, lead.read_policy()) == ScalingRecord()


def test_what_is_set_is_read_with_who_when_and_why(world: World) -> None:
    done, version = put(world, 0, "a", mode="hold", schedule="MON 08:00-09:00 floor=2")

    found = ask(world, lead.read_policy())

    assert (done, found.version, found.by, found.reason) == (True, version, "me", "why")
    assert found.values == {"mode": "hold", "schedule": "MON 08:00-09:00 floor=2"}
    assert version >= found.at_ms > 0
    assert not found.problem


def test_a_change_needs_the_version_that_is_there(world: World) -> None:
    _, first = put(world, 0, "a", mode="hold")
    done, second = put(world, first, "b", mode="auto")

    assert done
    assert second > first
    for stale in (0, first, second + 1):
        assert put(world, stale, "c", mode="manual") == (False, second)
    assert ask(world, lead.read_policy()).values == {"mode": "auto"}


def test_a_repeated_change_gets_the_same_reply_and_changes_nothing_more(world: World) -> None:
    first = put(world, 0, "a", mode="hold")

    assert put(world, 0, "a", mode="hold") == first
    put(world, first[1], "b", mode="auto")
    assert put(world, 0, "a", mode="hold")[0] is False


def test_versions_grow_with_the_clock_and_without_it(world: World) -> None:
    _, first = put(world, 0, "a")
    world.advance(3600)

    _, second = put(world, first, "b")
    _, third = put(world, second, "c")

    assert second >= first + 1
    assert third > second


def test_a_record_that_is_known_is_not_sent_again(world: World) -> None:
    put(world, 0, "a", mode="hold")
    known = ask(world, lead.read_policy())

    [reply] = world.partition.server.run(world.system, [lead.read_policy(known)])

    assert isinstance(reply, list)
    assert reply[2] == 0
    assert ask(world, lead.read_policy(known)) is known
    put(world, known.version, "b", mode="auto")
    assert ask(world, lead.read_policy(known)).values == {"mode": "auto"}


def test_another_record_of_the_same_version_is_another(server_world: World) -> None:
    put(server_world, 0, "a", mode="hold")
    known = ask(server_world, lead.read_policy())
    key = server_world.system + b":policy"
    other = {"nonce": "b", "record": '{"values":{"mode":"auto"}}'}
    server_world.client.hset(key, mapping=other)

    assert ask(server_world, lead.read_policy(known)).values == {"mode": "auto"}


def test_too_much_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidInputError, match="at most 65,536 are possible"):
        lead.set_policy(0, "a", {"schedule": "x" * 70_000}, by="me", reason="")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (b"x" * 1_000_000, "it has 1,000,000 bytes; at most 65,536 are read"),
        (b"[" * 60_000, "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b'{"values":{"mode":3}}', "cannot be read"),
        (b'{"values":{"mode":"\xff"}}', "cannot be read"),
        (b"", "cannot be read"),
    ],
    ids=["huge", "deep", "no UTF-8", "a number", "a value that is no UTF-8", "empty"],
)
def test_a_damaged_record_says_so_and_can_be_replaced(
    server_world: World, record: bytes, problem: str
) -> None:
    key = server_world.system + b":policy"
    junk = {b"version": b"7", b"nonce": b"n" * 999, b"record": record, b"by": b"\xff\x1b" * 5000}
    server_world.client.hset(key, mapping=junk)

    found = ask(server_world, lead.read_policy())

    assert problem in found.problem
    assert (found.version, found.values, found.by) == (7, {}, "")
    assert put(server_world, 7, "a", mode="hold")[0]
    assert ask(server_world, lead.read_policy()).values == {"mode": "hold"}


@pytest.mark.parametrize(
    "version",
    [b"x", b"1e99", b"nan", b"-5", b"9" * 400],
    ids=["word", "huge", "nan", "negative", "long"],
)
def test_a_damaged_version_can_be_replaced(server_world: World, version: bytes) -> None:
    key = server_world.system + b":policy"
    server_world.client.hset(key, mapping={b"version": version, b"nonce": b"n", b"record": b"{}"})

    found = ask(server_world, lead.read_policy())

    assert put(server_world, found.version, "a", mode="hold")[0]
    assert ask(server_world, lead.read_policy()).version > 10**12
