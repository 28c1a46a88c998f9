"""The keys of a partition on a real server: which a verb touches, and all of them as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from queuepool.protocol.keys import PARTITION_KEYS, SYSTEM_KEYS
from queuepool.verbs import Verb
from tests.contract.test_probes import Monitor
from tests.contract.world import World

KINDS = {s.partition(":")[0]: kind for s, (kind, _) in (PARTITION_KEYS | SYSTEM_KEYS).items()}
State = dict[bytes, tuple[bytes, int]]  # key -> what DUMP returns, ms at which it expires


# On the server: a call for each key would cost more than the verbs that are tested.
_SAVE = """
local found = redis.call('KEYS', ARGV[1])
table.sort(found)
for n, key in ipairs(found) do
    found[n] = {key, redis.call('DUMP', key), redis.call('PEXPIRETIME', key)}
end
return found
"""
_RESTORE = """
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end
for n = 2, #ARGV, 3 do
    redis.call('RESTORE', ARGV[n], math.max(0, ARGV[n + 1]), ARGV[n + 2], 'ABSTTL')
end
"""


class Keys:
    """All keys of a partition and of the system beside it."""

    def __init__(self, world: World) -> None:
        self._client, self._all = world.client, world.partition.key + b"*"

    def save(self) -> State:
        """Return what is there, to the byte."""
        found = self._client.eval(_SAVE, 0, self._all)
        return {key: (value, expires) for key, value, expires in found}

    def restore(self, state: State) -> State:
        """Make it what it was; return that as saved now: a restored set has an order of its own."""
        parts = (p for key, (value, expires) in state.items() for p in (key, expires, value))
        self._client.eval(_RESTORE, 0, self._all, *parts)
        return self.save()

    @contextmanager
    def replaced(self, keys: Iterable[bytes]) -> Iterator[None]:
        """Put a value of another type in the place of keys, and take it away again."""
        for key in keys:
            if self._client.exists(key):
                self._client.rename(key, b"aside:" + key)
            if KINDS[stem(key)] == "STRING":
                self._client.rpush(key, "not ours")
            else:
                self._client.set(key, "not ours")
        yield
        for key in keys:
            self._client.delete(key)
            if self._client.exists(b"aside:" + key):
                self._client.rename(b"aside:" + key, key)


def stem(key: bytes) -> str:
    """Return the kind of a key: `q` of every lane."""
    return key.rpartition(b"}")[2].split(b":")[1].decode()


def touched(world: World, verb: Verb[Any], base: bytes) -> list[tuple[bytes, ...]]:
    """Run a verb; return its keys, those together that the minute decides between."""
    run = world.partition.server.run
    *_unknown, (_sha, commands) = Monitor(world.client).calls(lambda: run(base, [verb]))
    keys = {
        key
        for word, *words in commands
        if words and word.upper() != b"SCAN"
        for key in (words if word.upper() == b"EXISTS" else words[:1])
    }
    windows = tuple(key for key in keys if stem(key) == "dn")
    if len(windows) == 1:
        keys -= set(windows)
        windows = tuple(windows[0][:-1] + parity for parity in (b"0", b"1"))
        return [*((key,) for key in sorted(keys)), windows]
    return [(key,) for key in sorted(keys)]
