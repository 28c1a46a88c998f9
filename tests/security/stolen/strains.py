"""The rows of docs/security.md about the server's time and memory, and about its other databases.

They take more than a command. Each tells whether it was done, or raises what the server says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

from tests.security.stolen.action import by
from tests.security.stolen.scene import PAYLOAD, Scene
from tests.waiting import wait_until

_LOOP = b"#!lua\nwhile true do end"
# It ends by itself some time after the server calls it busy, since nothing else could end it.
_WRITE_AND_LOOP = b"#!lua\nredis.call(unpack(ARGV))\nfor _ = 1, 5e7 do end"
_TRIES = 10  # of a loop that may be over before a busy machine looks
_MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Strain:
    """Something done to the server as a whole. done: (scene, thief, role) -> whether."""

    name: str
    may: frozenset[str]
    done: Callable[[Scene, Any, str], bool]


def _other_database(scene: Scene, thief: Any, _role: str) -> bool:
    thief.select(1)
    return bool(thief.hget(scene.base + b":j", "waiting") == PAYLOAD)


def _memory(scene: Scene, thief: Any, _role: str) -> bool:
    def used() -> int:
        return int(scene.admin.info("memory")["used_memory_scripts"])

    before = used()
    thief.script_load(b"#!lua\n--" + b"x" * _MEGABYTE)
    return used() - before >= _MEGABYTE


def _start(scene: Scene, thief: Any, source: bytes, *words: bytes) -> bool:
    """Run a script of the thief's own; return whether the server called itself busy with it.

    Raises what the server says when the script is over.
    """
    scene.admin.config_set("busy-reply-threshold", 10)
    sha = thief.script_load(source)
    thief.connection.send_command("EVALSHA", sha, 1, scene.base, *words)

    def busy() -> bool:
        try:
            scene.admin.ping()
        except redis.ResponseError as error:
            return "BUSY" in str(error)
        return False

    seen: list[str] = []

    def either() -> bool:
        seen.extend(["busy"] * busy() or ["over"] * thief.connection.can_read(0))
        return bool(seen)

    wait_until(either, 30.0, "the script blocks the server, or is over", interval_s=0.001)
    if seen == ["over"]:
        thief.connection.read_response()
    return seen == ["busy"]


def _block(scene: Scene, thief: Any, _role: str) -> bool:
    if not _start(scene, thief, _LOOP):
        return False
    scene.admin.script_kill()
    try:
        thief.connection.read_response()
    except redis.ResponseError as error:
        return "killed" in str(error)
    return False


def _block_for_good(scene: Scene, thief: Any, role: str) -> bool:
    key = b"ck" if role == "coordinator" else b"c"
    words = (b"HSET", scene.base + b":" + key, b"extra", b"1")
    for _ in range(_TRIES):
        if _start(scene, thief, _WRITE_AND_LOOP, *words):
            try:
                scene.admin.script_kill()
            except redis.ResponseError as error:
                thief.connection.read_response()
                return "UNKILLABLE" in str(error)
    return False


def _list(_scene: Scene, thief: Any, _role: str) -> bool:
    return bool(thief.execute_command("CLIENT", "LIST"))


STRAINS = (
    Strain(
        "list the server's connections, with their addresses, users and latest commands",
        by("consumer"),
        _list,
    ),
    Strain(
        "the same in another database of the server, under the same names",
        by("all"),
        _other_database,
    ),
    Strain("run scripts of one's own, and fill memory with them", by("all"), _memory),
    Strain("block the server with a loop, until `SCRIPT KILL`", by("all"), _block),
    Strain(
        "block the server until `SHUTDOWN NOSAVE`",
        by("producer consumer coordinator ops"),
        _block_for_good,
    ),
)
