"""Commands of the server that confirm what their connection wrote before them. Pure.

They run after an enqueue of the same call. See queuepool.client.durability for their meaning.
"""

from __future__ import annotations

from typing import Any

from queuepool.verbs import Verb, fields
from queuepool.verbs.scripts import script


def touch(key: bytes) -> Verb[bytes]:
    """Write a key that soon expires, so that there is something to confirm."""
    return Verb("", [b"SET", key, b"1", b"PX", 5000], bytes)


def wait(replicas: int, timeout_ms: int) -> Verb[int]:
    """Wait until replicas have what was written; returns how many have it."""
    return Verb("", [b"WAIT", replicas, timeout_ms], int)


def wait_aof(replicas: int, timeout_ms: int) -> Verb[tuple[int, int]]:
    """Wait for fsyncs of what was written; returns (1 when here, on how many replicas)."""
    return Verb("", [b"WAITAOF", 1, replicas, timeout_ms], lambda r: (int(r[0]), int(r[1])))


def persistence() -> Verb[dict[str, str]]:
    """Read the settings that define when this server fsyncs its append-only file."""
    return Verb(
        "",
        [b"CONFIG", b"GET", b"appendonly", b"appendfsync", b"no-appendfsync-on-rewrite"],
        settings_in,
    )


def settings_in(reply: Any) -> dict[str, str]:
    """Return the reply of CONFIG GET as settings by name."""
    return {name: value.decode() for name, value in fields(reply).items()}


def load(name: str) -> Verb[bytes]:
    """Load a script, so that no later verb is delayed for lack of it and overtaken."""
    return Verb("", [b"SCRIPT", b"LOAD", script(name).code], bytes)
