"""groups: the verb that lists task groups, a bounded part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queuepool.testing.data import PartitionData
from queuepool.testing.groups import TIERS, Group
from queuepool.testing.keyspace import Args
from queuepool.testing.tenants import room_of


def groups(p: PartitionData, args: Args) -> Any:
    """List the task groups that have ready, parked or held jobs; nothing moves meanwhile."""
    most, by_age, least = int(args[0]), args[1] == b"age", int(args[2])
    todo = [(args[k], int(args[k + 1] or 0)) for k in range(3, len(args), 2)]
    looked, rows = 0, dict[bytes, list[Any]]()
    while todo and looked < most:
        name, offset = todo[0]
        looked += 1
        elements = list(_elements(p, name))
        end = offset + max(1, most - looked)
        for group, further in elements[offset:end]:
            looked += 1
            todo += [(one, 0) for one in further if one not in {name for name, _ in todo}]
            known = p.groups.get(group)
            if known is not None and _matters(known, by_age, least):
                rows[group] = _row(group, known)
        todo[:1] = [(name, end)] if end < len(elements) else []
    following = [
        text for name, offset in todo for text in (name, b"%d" % offset if offset else b"")
    ]
    return [p.now, looked, following, *rows.values()]


def _matters(group: Group, by_age: bool, least: int) -> bool:
    if by_age:
        return group.left > 0 and not 0 < least <= group.created
    return group.left > least


def _row(name: bytes, group: Group) -> list[Any]:
    sizes = [group.total, group.left, group.delayed, group.parked, group.dead]
    return [name, *sizes, group.created, group.hold]


def _elements(p: PartitionData, name: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield a group, or the lists that have more of them."""
    kind, _, rest = name.partition(b":")
    tier, _, of = rest.partition(b":")
    if kind == b"ring":
        for seat in p.seats.tiers[int(tier)]:
            yield seat.group, [b"tr:%d:%s" % (seat.tier, seat.tenant)] if seat.tenant else []
    elif kind == b"tr":
        for seat in p.seats.tenants.get((int(tier), of), ()):
            yield seat.group, []
    elif kind == b"gr":
        for group in p.gates.rings.get((of, int(tier)), ()):
            yield group, []
    elif kind == b"mg":
        for group in p.managed:
            yield group, []
    elif kind == b"gt":
        for gate in p.gates.ids:
            yield b"", [b"gr:%d:%s" % (t, gate) for t in TIERS]
    else:
        for tenant in p.tenants:
            full = room_of(p, tenant) == 0
            yield b"", [b"tr:%d:%s" % (t, tenant) for t in TIERS] if full else []
