"""groups: the verb that lists task groups, a bounded part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queuepool.protocol import codec
from queuepool.testing.data import PartitionData
from queuepool.testing.groups import TIERS, Group
from queuepool.testing.keyspace import Args
from queuepool.testing.tenants import room_of


def groups(p: PartitionData, args: Args) -> Any:
    """List the task groups that have jobs left; nothing moves meanwhile."""
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


_Element = tuple[bytes, list[bytes]]  # a group, and the lists that have more of them


def _elements(p: PartitionData, name: bytes) -> Iterator[_Element]:
    kind, _, rest = name.partition(b":")
    tier, _, of = rest.partition(b":")
    if kind in (b"ring", b"tr", b"gr"):
        return _of_lanes(p, kind, int(tier), of)
    if kind in (b"dl", b"fl"):
        return _of_jobs(p, kind, rest)
    return _of_records(p, kind)


def _of_lanes(p: PartitionData, kind: bytes, tier: int, of: bytes) -> Iterator[_Element]:
    if kind == b"ring":
        for seat in p.seats.tiers[tier]:
            yield seat.group, [b"tr:%d:%s" % (seat.tier, seat.tenant)] if seat.tenant else []
    elif kind == b"tr":
        for seat in p.seats.tenants.get((tier, of), ()):
            yield seat.group, []
    else:
        for group in p.gates.rings.get((of, tier), ()):
            yield group, []


def _of_jobs(p: PartitionData, kind: bytes, epoch: bytes) -> Iterator[_Element]:
    if kind == b"fl" and not epoch:
        for each in p.books:
            yield b"", [b"fl:%d" % each]
        return
    jobs = p.delayed if kind == b"dl" else p.book(int(epoch))
    for _, job_id in jobs.entries():
        yield codec.read_group(p.jobs[job_id]), []


def _of_records(p: PartitionData, kind: bytes) -> Iterator[_Element]:
    if kind == b"mg":
        for group in p.managed:
            yield group, []
    elif kind == b"gt":
        for gate in p.gates.ids:
            yield b"", [b"gr:%d:%s" % (t, gate) for t in TIERS]
    else:
        for tenant in p.tenants:
            full = room_of(p, tenant) == 0
            yield b"", [b"tr:%d:%s" % (t, tenant) for t in TIERS] if full else []
