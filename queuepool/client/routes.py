"""Where jobs go: from a partition key to its partition, group and ids. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from queuepool.errors import InvalidInputError
from queuepool.protocol import codec, ids
from queuepool.routing.slots import MAX_GROUP_BYTES, group_of, key_bytes, partition_of, slot_of
from queuepool.settings.config import PoolConfig

PartitionKey = str | bytes | Callable[[Mapping[str, Any]], str | bytes]

_KNOWN = 1024  # size limit of the caches of routes and defaults
_KEY_TYPES = (str, bytes)


@dataclass(frozen=True, slots=True)
class Route:
    """Where the jobs of a partition key go. key_text: the key, when it is not the group itself.

    base: the base key of the partition. tail: the beginning of every body of the group. hint: the
    beginning of its jobs' ids.
    """

    partition: int
    base: bytes
    group: bytes
    tail: bytes
    hint: bytes
    key_text: str | None


class Routes:
    """A cache of the routes of recent partition keys. Safe to share between threads.

    Without it, they would be computed repeatedly for the same few keys. Threads may lose each
    other's entries, which costs a computation.
    """

    def __init__(self, config: PoolConfig) -> None:
        self._config = config
        self._known: dict[str | bytes, Route] = {}

    def of(self, partition_key: str | bytes | None) -> Route:
        """Return where a partition key's jobs go. Raises InvalidInputError."""
        known = self._known.get(partition_key) if type(partition_key) in _KEY_TYPES else None  # type: ignore[arg-type]
        if known is not None:
            return known
        if partition_key is None:
            raise InvalidInputError(
                "partition_key is missing: use a name for the jobs that belong together, such "
                "as the id of the bulk action; jobs with the same key form a task group"
            )
        route = self._new(partition_key)
        if len(partition_key) <= MAX_GROUP_BYTES:
            remember(self._known, partition_key, route)
        return route

    def _new(self, partition_key: str | bytes) -> Route:
        key = key_bytes(partition_key)
        slot, group = slot_of(key), group_of(key)
        partition = partition_of(slot, self._config.topology.partitions)
        text = None if len(key) <= MAX_GROUP_BYTES else key[:1024].decode("utf-8", "replace")
        base = self._config.keyspace.partition(partition)
        tail = codec.encode_tail(slot, group)
        return Route(partition, base, group, tail, ids.hint_of(slot), text)


def remember(memory: dict[Any, Any], key: object, value: object) -> None:
    """Put a value into a cache of bounded size; a full one is emptied first."""
    if len(memory) >= _KNOWN:
        memory.clear()
    memory[key] = value
