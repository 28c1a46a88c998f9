"""Everything that a server holds of one partition, read in one call and sorted by key.

The names are spelled out here once more, from docs/protocol.md: a key that this file does not
know fails the test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import time
from typing import Any

_READ = """
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':*')) do
  local kind, content = redis.call('TYPE', key).ok, nil
  if kind == 'string' then content = redis.call('GET', key)
  elseif kind == 'list' then content = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'hash' then content = redis.call('HGETALL', key)
  elseif kind == 'set' then content = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then content = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  else content = redis.call('XRANGE', key, '-', '+') end
  found[#found + 1] = {string.sub(key, #ARGV[1] + 2), content, redis.call('PTTL', key)}
end
return found
"""
_PLAIN = (
    "j",
    "at",
    "cr",
    "er",
    "pr",
    "cn",
    "cx",
    "c",
    "o",
    "dr",
    "ck",
    "rec",
    "wk",
    "dl",
    "du",
    "ua",
    "ht",
    "u",
    "uk",
    "mg",
    "mt",
    "mv",
    "mn",
    "mr",
    "ex",
    "dead",
    "lm",
    "ll",
    "gt",
    "ga",
    "gk",
    "bd",
    "fo",
)


@dataclass
class Space:
    """The keys of one partition as they are."""

    plain: dict[str, Any] = field(default_factory=dict)
    lanes: dict[tuple[int, bytes], list[bytes]] = field(default_factory=dict)
    gates: dict[tuple[bytes, int, bytes], list[bytes]] = field(default_factory=dict)
    gate_rings: dict[tuple[bytes, int], list[bytes]] = field(default_factory=dict)
    gates_of: dict[bytes, set[bytes]] = field(default_factory=dict)  # group -> its lanes at gates
    rings: list[list[bytes]] = field(default_factory=lambda: [[], [], [], []])
    tenants: dict[tuple[int, bytes], list[bytes]] = field(default_factory=dict)  # their rings
    records: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)  # of tenants
    books: dict[int, list[tuple[bytes, float]]] = field(default_factory=dict)
    groups: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)
    indexed: dict[bytes, set[bytes]] = field(default_factory=dict)  # delayed jobs of a group
    ended: list[set[bytes]] = field(default_factory=lambda: [set(), set()])
    commands: list[Any] = field(default_factory=list)
    lasting: set[bytes] = field(default_factory=set)  # keys without an expiry

    def hash(self, name: str) -> dict[bytes, bytes]:
        """Return a hash as a dict."""
        return pairs(self.plain.get(name, []))

    def ids(self, name: str) -> list[bytes]:
        """Return the members of a sorted set, in order."""
        members: list[bytes] = self.plain.get(name, [])[::2]
        return members

    def held(self) -> set[bytes]:
        """Return the delayed jobs that wait for the release of their tasks."""
        flat: list[bytes] = self.plain.get("dl", [])
        far_ms = (time() + 5 * 366 * 86_400) * 1000
        return {flat[i] for i in range(0, len(flat), 2) if float(flat[i + 1]) > far_ms}

    def list(self, name: str) -> list[bytes]:
        """Return a list."""
        items: list[bytes] = self.plain.get(name, [])
        return items

    def counter(self, name: str) -> int:
        """Return one counter."""
        return int(self.hash("c").get(name.encode(), 0))


def pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    """Return a flat list of fields and values as a dict."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def read(client: Any, base: bytes) -> Space:
    """Return all keys of a partition."""
    space = Space()
    for suffix, content, ttl in client.eval(_READ, 0, base):
        if ttl == -1:
            space.lasting.add(suffix)
        kind, _, rest = suffix.partition(b":")
        if suffix.decode("latin-1") in _PLAIN:
            space.plain[suffix.decode()] = content
        elif suffix == b"cmd":
            space.commands = content
        elif kind in _NAMED:
            _NAMED[kind](space, rest, content)
        else:
            assert kind == b"r", f"docs/protocol.md knows no key {suffix!r}"
    return space


def _read_lane(space: Space, name: bytes, content: list[bytes]) -> None:
    tier, _, group = name.partition(b":")
    space.lanes[int(tier), group] = content


def _read_lane_at_gate(space: Space, name: bytes, content: list[bytes]) -> None:
    tier, _, rest = name.partition(b":")
    gate, _, group = rest.partition(b"~")
    space.gates[gate, int(tier), group] = content


def _read_ring_of_gate(space: Space, name: bytes, content: list[bytes]) -> None:
    tier, _, gate = name.partition(b":")
    space.gate_rings[gate, int(tier)] = content


def _read_ring(space: Space, name: bytes, content: list[bytes]) -> None:
    space.rings[int(name)] = content


def _read_ring_of_tenant(space: Space, name: bytes, content: list[bytes]) -> None:
    tier, _, tenant = name.partition(b":")
    space.tenants[int(tier), tenant] = content


def _read_tenant(space: Space, name: bytes, content: list[bytes]) -> None:
    space.records[name] = pairs(content)


def _read_book(space: Space, name: bytes, content: list[bytes]) -> None:
    scores = zip(content[::2], content[1::2], strict=True)
    space.books[int(name)] = [(i, float(score)) for i, score in scores]


def _read_group(space: Space, name: bytes, content: list[bytes]) -> None:
    space.groups[name] = pairs(content)


def _read_delayed(space: Space, name: bytes, content: list[bytes]) -> None:
    space.indexed[name] = set(content)


def _read_gates_of(space: Space, name: bytes, content: list[bytes]) -> None:
    space.gates_of[name] = set(content)


def _read_ended(space: Space, name: bytes, content: list[bytes]) -> None:
    space.ended[int(name)] = {i.removeprefix(b"!") for i in content if i[:1] != b"~"}


_NAMED: dict[bytes, Callable[[Space, bytes, list[bytes]], None]] = {
    b"q": _read_lane,
    b"gq": _read_lane_at_gate,
    b"gr": _read_ring_of_gate,
    b"ring": _read_ring,
    b"tr": _read_ring_of_tenant,
    b"tn": _read_tenant,
    b"tt": lambda _space, _name, _content: None,
    b"fl": _read_book,
    b"g": _read_group,
    b"dg": _read_delayed,
    b"gg": _read_gates_of,
    b"dn": _read_ended,
    b"b": lambda _space, _name, _content: None,  # of batches, which rules look at
    b"bb": lambda _space, _name, _content: None,
    b"bf": lambda _space, _name, _content: None,
    b"br": lambda _space, _name, _content: None,
}
