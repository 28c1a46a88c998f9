"""What an owner's connection says of it, and how a standby replaces one that is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from queuepool.errors import ScriptError
from queuepool.partitions.partition import OwnedPartition
from queuepool.verbs import Verb
from queuepool.verbs.owner import lifeline
from queuepool.verbs.owner import verbs as own
from tests.contract.world import World
from tests.waiting import wait_until

HOST = "elsewhere:7"


def renew(owned: OwnedPartition, line: str = "abc:7:1") -> None:
    """Renew the lease."""
    verb = own.renew(
        owned.ownership,
        lease_ms=10_000,
        beat=1,
        workers=1,
        busy=0,
        target=1,
        applied="0-0",
        lifeline=line,
    )
    owned.run(verb)


def ask(world: World, nonce: str = "other", gone: own.Held | None = None) -> Any:
    """Ask for the partition as another process."""
    verb = own.acquire(0, nonce, lease_ms=10_000, host="here:1", replaces=False, gone=gone)
    return world.partition.run(verb)


def test_the_holder_is_told_with_its_lifeline_and_its_last_renewal(world: World) -> None:
    owned = world.own(lease_s=10)
    before = ask(world)
    assert (before.lifeline, before.host) == ("", "test")

    world.advance(2)
    renew(owned)

    told = ask(world)
    assert (told.lifeline, told.epoch) == ("abc:7:1", owned.ownership.epoch)
    assert told.heartbeat_ms >= before.heartbeat_ms


def test_an_owner_that_is_gone_is_replaced_at_once_unless_it_renewed(world: World) -> None:
    owned = world.own(lease_s=10)
    renew(owned)
    told = ask(world)
    world.advance(1)
    renew(owned)

    assert isinstance(ask(world, gone=told), own.Held)  # it lives
    assert isinstance(ask(world, gone=ask(world)), own.Acquired)

    successor = ask(world, "third")
    assert successor.lifeline == ""
    assert isinstance(ask(world, "third", gone=told), own.Held)  # somebody else by now


def test_what_an_owner_of_an_earlier_release_did_not_write_is_not_believed(world: World) -> None:
    if world.client is None:
        pytest.skip("nothing is written by hand in memory")
    world.own(lease_s=10)
    world.client.hset(world.partition.key + b":o", "line", "1:abc:7:1")  # of the epoch before

    assert ask(world).lifeline == ""


def answers(listed: Any, info: Any) -> bool:
    """Return whether these replies say that connection 7 of run abc is closed."""
    verbs = lifeline.inspect("abc:7:1")
    return lifeline.is_cut("abc:7:1", verbs, [listed, info])


def test_only_a_connection_of_the_same_run_that_is_not_listed_is_closed() -> None:
    same = b"# Server\r\nrun_id:abc\r\nuptime:1\r\n"

    assert answers(b"", same)
    assert answers(b"id=70 addr=1\n", same)
    assert not answers(b"id=7 addr=1\n", same)
    assert not answers(b"", b"run_id:abd\r\n")
    assert not answers(b"", b"")
    assert not answers(ScriptError("NOPERM"), same)
    assert not answers(b"", ScriptError("NOPERM"))
    assert not answers(None, same)


@pytest.mark.parametrize("text", ["", ":", "abc", "abc:", "abc:0", "xyz:7", "abc:7\n", "abc:-1"])
def test_a_lifeline_that_cannot_be_read_is_not_looked_for(text: str) -> None:
    assert lifeline.inspect(text) == []
    assert not lifeline.is_cut(text, [], [])


def test_a_real_connection_is_listed_until_it_closes(engine_url: str) -> None:
    import redis

    client: Any = redis.Redis.from_url(engine_url)
    watched: Any = redis.Redis.from_url(engine_url, single_connection_client=True)

    def raw(words: Sequence[bytes]) -> Any:
        return watched.execute_command(*words, NEVER_DECODE=True)

    number = watched.client_id()
    run = client.info("server")["run_id"]
    line = lifeline.read_lifeline(
        lambda words: number if words[0] == b"CLIENT" else b"run_id:%s\r\n" % str(run).encode()
    )
    assert line == f"{run}:{number}:"

    def look() -> bool:
        verbs = lifeline.inspect(line)
        pool = client.connection_pool
        connection = pool.get_connection()
        try:
            return lifeline.is_cut(line, verbs, [_plain(connection, verb) for verb in verbs])
        finally:
            pool.release(connection)

    assert raw((b"PING",))
    assert not look()
    watched.close()
    watched.connection_pool.disconnect()
    wait_until(look, message="the server has seen that the connection is closed")
    client.close()


def _plain(connection: Any, verb: Verb[Any]) -> Any:
    connection.send_command(*verb.args)
    return connection.read_response(disable_decoding=True)
