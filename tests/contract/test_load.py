"""What an owner reports of its machine is seen, until another one owns the partition."""

from typing import Any

import pytest

from queuepool.models import Owner
from queuepool.verbs.owner import verbs as own
from tests.contract import world as w
from tests.contract.world import World

COUNTS: dict[str, Any] = {"lease_ms": 5_000, "beat": 1, "workers": 8, "busy": 2, "target": 8}


def seen(world: World) -> Owner:
    owner = world.partition.observe().owner
    assert owner is not None
    return owner


@pytest.mark.parametrize(
    ("load", "cpu", "memory"),
    [("42:63", 42, 63), ("", None, None), (":", None, None), ("7:", 7, None), (":100", None, 100)],
)
def test_cpu_and_memory_in_use(
    world: World, load: str, cpu: float | None, memory: float | None
) -> None:
    owned = world.own()

    owned.run(own.renew(owned.ownership, **COUNTS, applied="0-0", load=load))

    assert (seen(world).cpu, seen(world).memory) == (cpu, memory)


def test_a_successor_has_not_reported_yet(world: World) -> None:
    owned = world.own()
    owned.run(own.renew(owned.ownership, **COUNTS, applied="0-0", load="42:63"))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))

    successor = world.own()

    assert (seen(world).cpu, seen(world).memory) == (None, None)
    w.renew(successor)
    assert (seen(world).cpu, seen(world).memory) == (None, None)


@pytest.mark.parametrize("load", [b"101:-1", b"nan:inf", b"\xff:\x00", b"9" * 900, b"1e2:0x1"])
def test_what_is_no_percent_is_no_report(server_world: World, load: bytes) -> None:
    server_world.own()
    key = server_world.partition.key + b":o"
    epoch = server_world.client.hget(key, "epoch")
    server_world.client.hset(key, "load", epoch + b":" + load)

    assert (seen(server_world).cpu, seen(server_world).memory) == (None, None)
