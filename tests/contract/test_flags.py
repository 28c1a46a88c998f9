"""What the first line of a script promises: at maxmemory, and to those that only read.

The server decides before the script's own first line, so the arguments here are of no use. Real
servers only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from queuepool.verbs import scripts
from tests.contract.world import World

WAIT_FOR_ROOM = {
    *("adopt", "adopt_batch", "edit", "enqueue", "fire", "progress", "record", "relay", "replay"),
    *("open_batch", "seal_batch", "grow_batch", "note_ends"),
}
ONLY_READ = {
    "checkup",
    "batch",
    "batches",
    "export_batch",
    "batch_results",
    "in_flight",
    "dead",
    "decisions",
    "errors",
    "find",
    "gates",
    "group",
    "groups",
    "history",
    "limits",
    "tenant",
    "tenants",
    "observe",
    "peek",
    "pool_names",
    "read_log",
    "read_policy",
    "relayed",
    "schedules",
    "status",
    "vacancy",
    "walk",
    "who_leads",
    "export",
}


@pytest.fixture
def full_world(server_world: World) -> Iterator[World]:
    """A partition on a server without memory."""
    server_world.client.config_set("maxmemory", 1)
    yield server_world
    server_world.client.config_set("maxmemory", 0)
    server_world.damaged = True


def refusal(world: World, command: str, name: str) -> str:
    """Return what the server says of a call, '' when nothing."""
    script = scripts.script(name)
    world.client.script_load(script.code)
    arguments: list[Any] = ["1", "2", "0", "0", "0", "0", "0"]
    try:
        world.client.execute_command(command, script.sha, 1, world.partition.key, *arguments)
    except redis.ResponseError as error:
        return f"{type(error).__name__} {error}"
    return ""


@pytest.mark.parametrize("name", scripts.names())
def test_without_memory_only_what_can_wait_is_refused(full_world: World, name: str) -> None:
    assert ("OutOfMemory" in refusal(full_world, "EVALSHA", name)) == (name in WAIT_FOR_ROOM)


@pytest.mark.parametrize("name", scripts.names())
def test_scripts_that_only_read_run_where_nothing_may_be_written(
    server_world: World, name: str
) -> None:
    server_world.damaged = True

    said = refusal(server_world, "EVALSHA_RO", name)

    assert ("write flag" in said) == (name not in ONLY_READ), said
