"""Where jobs go: from a partition key to its partition, group and ids. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from queuepool.client.chunks import place_key
from queuepool.errors import InvalidInputError
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.tenants import SEPARATOR, key_in, split, tenant_bytes, tenant_of
from queuepool.protocol import codec, ids
from queuepool.routing.named import slot_of_group
from queuepool.routing.slots import MAX_GROUP_BYTES, group_of, key_bytes, slot_of
from queuepool.routing.spreading import part_of_group, slot_of_part
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig

PartitionKey = str | bytes | Callable[[Mapping[str, Any]], str | bytes]

_KNOWN = 1024  # size limit of the caches of routes and defaults
_KEY_TYPES = (str, bytes)


@dataclass(frozen=True, slots=True)
class Route:
    """Where the jobs of a partition key go. key_text: the key, when it is not the group itself.

    since: the version of the route that says so. version: the one to send, see View.version_for.
    base: the base key of the partition. tail: the beginning of every body of the group. hint: the
    beginning of its jobs' ids. shift: what a call adds to the tier, for groups of tenants. pool:
    whose base it is. place: tells its place from all others, see queuepool.client.chunks.place_key.
    """

    partition: int
    base: bytes
    group: bytes
    tail: bytes
    hint: bytes
    key_text: str | None
    shift: int = 0
    pool: str = DEFAULT_POOL
    version: int = 1
    since: int = 1
    place: bytes = b""

    @property
    def slot(self) -> int:
        """Return the slot of the key."""
        return codec.slot_of_tail(self.tail)

    def may_be_digest(self, separator: str) -> bool:
        """Return whether the key may be the digest that stands for a long one, in another slot.

        separator: QUEUEPOOL_TENANT_SEPARATOR, if there is one.
        """
        return self.key_text is None and slot_of_group(self.group, separator) is None

    def into(self, pool: str, config: PoolConfig) -> Route:
        """Return the route of the same key into this pool."""
        if pool == self.pool:
            return self
        base = config.of(pool).keyspace.partition(self.partition)
        return replace(self, base=base, pool=pool, place=place_key(self.partition, base))


class Routes:
    """A cache of the routes of recent partition keys. Safe to share between threads.

    Without it, they would be computed repeatedly for the same few keys. Threads may lose each
    other's entries, which costs a computation.
    """

    def __init__(self, config: PoolConfig) -> None:
        self._config, self.pool = config, config.keyspace.pool
        self._topology = config.topology
        self._known = _Known(self._topology.view)

    def of(self, partition_key: str | bytes | None, tenant: str | None = None) -> Route:
        """Return where a partition key's jobs go. Raises InvalidInputError."""
        if tenant is not None:
            return self._of_tenant(partition_key, tenant)
        by = self._by()
        known = by.keys.get(partition_key) if type(partition_key) in _KEY_TYPES else None  # type: ignore[arg-type]
        if known is not None:
            return known
        route = self._new(key_bytes(_given(partition_key)), by.view)
        if partition_key is not None and len(partition_key) <= MAX_GROUP_BYTES:
            remember(by.keys, partition_key, route)
        return route

    def of_group(self, slot: int, group: bytes) -> Route:
        """Return where a group goes whose key is not known, only its slot."""
        shift = 0 if tenant_of(group) is None else 4
        return self._of_slot(slot, group, None, shift, self._by().view)

    def part(self, route: Route, part: int) -> Route:
        """Return where a part of a spread group goes, given where the group itself does."""
        if not part:
            return route
        parts, view = (known := self._by()).parts, known.view
        found = parts.get((route.group, part))
        if found is None:
            slot = slot_of_part(route.slot, route.group, part)
            group, key = part_of_group(route.group, part), key_in(route.group)
            text = route.key_text
            if text is None and not group.endswith(key):
                text = key.decode("utf-8", "replace")
            found = self._of_slot(slot, group, text, route.shift, view)
            remember(parts, (route.group, part), found)
        return found

    def _by(self) -> _Known:
        # Whatever is computed by a view is remembered with it, so no route outlives its version.
        known = self._known
        if known.view is not self._topology.view:
            known = self._known = _Known(self._topology.view)
        return known

    def _of_tenant(self, partition_key: str | bytes | None, tenant: str) -> Route:
        given, by = (_given(partition_key), tenant), self._by()
        plain = type(given[0]) in _KEY_TYPES and type(tenant) is str  # others may have no hash
        known = by.of_tenants.get(given) if plain else None
        if known is not None:
            return known
        key, name = key_bytes(given[0]), tenant_bytes(tenant)
        separator = self._config.tenant_separator or SEPARATOR
        route = self._route(b"%s%s%s" % (name, separator.encode(), key), name, key, by.view)
        if len(given[0]) <= MAX_GROUP_BYTES:
            remember(by.of_tenants, given, route)
        return route

    def _new(self, key: bytes, view: View) -> Route:
        separator = self._config.tenant_separator
        tenant, name = (separator and split(key, separator)) or (b"", key)
        return self._route(key, tenant, name, view)

    def _route(self, whole: bytes, tenant: bytes, key: bytes, view: View) -> Route:
        # whole: the key with its tenant, which decides about the partition.
        slot, group = slot_of(whole), group_of(key, tenant)
        text = None if group.endswith(key) else key[:1024].decode("utf-8", "replace")
        return self._of_slot(slot, group, text, 4 if tenant else 0, view)

    def _of_slot(self, slot: int, group: bytes, text: str | None, shift: int, view: View) -> Route:
        partition, space = view.partition_of(slot), self._config.keyspace
        base = space.partition(partition)
        tail = codec.encode_tail(slot, group)
        versions = view.version_for(slot), view.version
        hint, place = ids.hint_of(slot), place_key(partition, base)
        return Route(partition, base, group, tail, hint, text, shift, space.pool, *versions, place)


class _Known:
    """The routes of recent partition keys by one view."""

    __slots__ = ("keys", "of_tenants", "parts", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        self.keys: dict[str | bytes, Route] = {}
        self.of_tenants: dict[tuple[str | bytes, str], Route] = {}
        self.parts: dict[tuple[bytes, int], Route] = {}


def _given(partition_key: str | bytes | None) -> str | bytes:
    if partition_key is None:
        raise InvalidInputError(
            "partition_key is missing: use a name for the jobs that belong together, such "
            "as the id of the bulk action; jobs with the same key form a task group"
        )
    return partition_key


def remember(memory: dict[Any, Any], key: object, value: object) -> None:
    """Put a value into a cache of bounded size; a full one is emptied first."""
    if len(memory) >= _KNOWN:
        memory.clear()
    memory[key] = value
