"""Keys of the queue itself with a value of the wrong type: found, and deleted but for the route."""

from __future__ import annotations

import pytest

from queuepool.models.log import LogKind
from queuepool.protocol.keys import SYSTEM_KEYS
from queuepool.verbs.operator import verbs as operate
from tests.contract.test_log import ask
from tests.contract.world import World

PARTITIONS = 12
NAMED = ["why:0", f"why:{PARTITIONS - 1}", *(f"log:{kind}" for kind in LogKind)]
NAMES = [*(name for name in SYSTEM_KEYS if "<" not in name), *NAMED]


def found(world: World, *, repair: bool = False) -> list[str]:
    return ask(world, operate.audit_system(PARTITIONS, repair=repair))


def key_of(world: World, name: str) -> bytes:
    return world.system + b":" + name.encode()


def test_a_queue_in_order_has_none(world: World) -> None:
    assert found(world) == found(world, repair=True) == []


@pytest.mark.parametrize("name", NAMES)
def test_one_is_found_and_a_repair_deletes_it(server_world: World, name: str) -> None:
    server_world.client.set(key_of(server_world, name), "not ours")

    assert found(server_world) == [name]
    assert server_world.client.exists(key_of(server_world, name))
    assert found(server_world, repair=True) == [name]

    assert found(server_world) == (["route"] if name == "route" else [])


def test_what_is_right_stays(server_world: World) -> None:
    client = server_world.client
    for name in NAMES:
        if SYSTEM_KEYS.get(name, ("STREAM",))[0] == "HASH":
            client.hset(key_of(server_world, name), "a", "b")
        else:
            client.xadd(key_of(server_world, name), {"a": "b"})

    assert found(server_world, repair=True) == []

    assert all(client.exists(key_of(server_world, name)) for name in NAMES)
