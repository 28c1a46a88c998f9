"""A count that is not a number starts over with the next write. Real servers."""

from __future__ import annotations

import pytest

from tests.contract import world as w
from tests.contract.busy import G, busy
from tests.contract.test_planted_values import kept
from tests.contract.world import World

HASHES = (b"c", b"g:" + G, b"g:dead", b"g:one", b"at")
# Field -> why it stays
EXCEPTIONS = {
    b"fenced": "a call that is fenced changes nothing that it need not; an audit puts it right",
    b"hold": "a time; whatever it is, it holds",
    b"cancelled_at": "a time; where it is none, the group counts as never cancelled",
}


@pytest.mark.parametrize("suffix", HASHES)
def test_a_count_that_is_none_begins_anew_with_whoever_changes_it(
    server_world: World, suffix: bytes
) -> None:
    scene, put_back = busy(server_world), kept(server_world)
    server_world.damaged = True
    client, counts = server_world.client, server_world.partition.key + b":" + suffix
    run = server_world.partition.server.run
    stay, tried = [], 0

    for verb in scene.verbs():
        put_back()
        before = client.hgetall(counts)
        run(scene.base(verb), [verb])
        after = client.hgetall(counts)
        changed = {field for field in after if after[field] != before.get(field)}
        for field in changed - EXCEPTIONS.keys():
            put_back()
            client.hset(counts, field, "x")
            run(scene.base(verb), [verb])
            tried += 1
            if client.hget(counts, field) == b"x":
                stay.append((verb.script, field))

    assert tried
    assert not stay


def test_ready_jobs_that_are_counted_in_words_begin_at_none_with_the_next_claim(
    server_world: World,
) -> None:
    owned = server_world.own()
    w.enqueue(server_world, ["a", "b"])
    server_world.client.hset(server_world.partition.key + b":c", "r2", "many")

    assert w.claim(owned, 1).ids == [b"a"]
    assert server_world.client.hget(server_world.partition.key + b":c", "r2") == b"0"
    server_world.damaged = True
