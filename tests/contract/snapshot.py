"""Everything a partition holds, in a form that is equal in memory and on a server.

Left out: times, epochs, and the stamps made of them. Their order is kept.
"""

from __future__ import annotations

from typing import Any

from queuepool.models.tenants import tenant_of
from queuepool.protocol import codec
from queuepool.testing.data import STARTED, PartitionData
from queuepool.testing.groups import Group
from queuepool.testing.records import Seat
from queuepool.testing.server import MemoryServer
from queuepool.testing.tenants import able_of, room_of, running_of
from tests.contract.world import World

_TIMES = ("cut", "dn", "dn_since", "aside", "largest", "hold", "rare", "tried")
_GROUP_TOTALS = (
    *("total", "left", "dead", "cancelled", "delayed"),
    *("done", "evicted", "discarded", "expired", "parked"),
)


def snapshot(world: World) -> dict[str, Any]:
    """Return all that a partition holds, but for times."""
    server = world.partition.server
    if isinstance(server, MemoryServer):
        world.partition.observe()  # lets the data know what time it is
        return _of_memory(server.data(world.partition.key))
    return _of_server(world.client, world.partition.key)


def _of_memory(p: PartitionData) -> dict[str, Any]:
    groups = {n: g for n in list(p.groups) if (g := p.find_group(n))}
    return {
        "jobs": {i: _body(b) for i, b in p.jobs.items()},
        "moved": {n: g.tier for n, g in groups.items() if g.moved},
        "stale": sorted(
            _seat(seat)
            for seat in p.seats.all()
            if seat.group in groups and seat.served_ms < groups[seat.group].moved
        ),
        "lanes": {(b"%d" % t, g): list(ids) for (t, g), ids in p.lanes.items() if ids},
        "rings": [[_seat(s) for s in ring] for ring in p.seats.tiers],
        "tenants": {
            (b"%d" % t, name): [_seat(s) for s in ring]
            for (t, name), ring in p.seats.tenants.items()
            if ring
        },
        "shut": {(b"%d" % (t + 4), name) for name, known in p.tenants.items() for t in known.out},
        "tenant_able": {
            (b"%d" % tier, name): n
            for name in {tenant_of(group) or b"" for _, group in p.lanes} - {b""}
            for tier, n in able_of(p, name).items()
            if n
        },
        "tenant_running": {
            name: running_of(p, name)
            for name in {tenant_of(codec.read_group(body)) or b"" for body in p.jobs.values()}
            if name and running_of(p, name)
        },
        "tenant_apart": {
            name: (known.state, known.apart, known.hold > 0, known.most)
            for name, known in p.tenants.items()
            if known.state
        },
        "tenant_shares": {
            (b"%d" % t, name): n
            for name, known in p.tenants.items()
            for t, n in known.able.items()
            if n
        },
        "tallies": {name: dict(p.tallies.of(name, p.now)) for name in p.tallies.counts},
        "bounds": {name: 0 if room_of(p, name) == 0 else k.weight for name, k in p.tenants.items()},
        "books": [_book(p.books[e].entries()) for e in sorted(p.books)],
        "delayed": [i for _, i in p.delayed.entries()],
        "urgent": [i for _, i in p.urgent.entries()],
        "asides": p.asides,
        "unique": (p.wishes.holders, p.wishes.keys),
        "expiring": set(p.wishes.expire_ms),
        "limits": {i: (_state(state), gate) for i, (state, gate) in p.gates.limits.items()},
        "gated": {
            (b"%d:%s" % (t, gate), g): list(ids) for (gate, (t, g)), ids in p.gates.lanes.items()
        },
        "at_gates": {
            b"%d:%s" % (t, gate): list(ring) for (gate, t), ring in p.gates.rings.items() if ring
        },
        "gates": (_some(p.gates.ids), _some(p.gates.admitted)),
        "dead": [i for _, i in p.dead.entries()],
        "attempts": p.attempts,
        "crashes": p.crashes,
        "errors": p.errors,
        "progress": p.progress,
        "cancels": set(p.cancels),
        "marks": p.marks,
        "ended": p.ended.sets,
        "results": {i: v for i in p.results if (v := p.result(i)) is not None},
        "groups": {n: _totals(g) for n, g in groups.items()},
        "managed": dict(p.managed),
        "out": {(b"%d" % t, n) for n, g in groups.items() for t in g.out},
        "waiting": {
            (b"%d" % t, n): w for n, g in groups.items() for t, w in g.waiting.items() if w
        },
        "able": {(b"%d" % t, n): w for n, g in groups.items() for t, w in g.able.items() if w},
        "apart": {n: (g.state, g.apart, g.most, g.serial) for n, g in groups.items() if g.state},
        "counters": {k: v for k, v in p.counters.items() if v and k not in _TIMES},
        "closings": {slot: b"%d" % version for slot, version in p.closings.items()},
        "draining": len(p.draining),
        "to_recover": len(p.to_recover),
        "commands": [(c.id, c.fields[:-1]) for c in p.commands],
        "checkpoint": p.checkpoint.get("target"),
        "tokens": list(p.tokens),
    }


def _of_server(client: Any, base: bytes) -> dict[str, Any]:
    def suffixes(prefix: bytes) -> list[bytes]:
        keys = client.scan_iter(match=base + b":" + prefix + b":*", count=1000)
        return [k[len(base) + 2 + len(prefix) :] for k in keys]

    def key(name: str | bytes) -> bytes:
        return base + b":" + (name if isinstance(name, bytes) else name.encode())

    lanes = {tuple(s.split(b":", 1)): client.lrange(key(b"q:" + s), 0, -1) for s in suffixes(b"q")}
    rings = [client.lrange(key(f"ring:{t}"), 0, -1) for t in range(4)]
    books = sorted((int(s), s) for s in suffixes(b"fl"))
    counters = {k.decode(): int(v) for k, v in client.hgetall(key("c")).items()}
    target = client.hget(key("ck"), "target")
    groups = {n: client.hgetall(key(b"g:" + n)) for n in suffixes(b"g")}
    tenants = {n: client.hgetall(key(b"tn:" + n)) for n in suffixes(b"tn")}
    inner = [client.lrange(key(b"tr:" + s), 0, -1) for s in suffixes(b"tr")]
    moved = {name: fields for name, fields in groups.items() if b"moved" in fields}
    return {
        "jobs": {i: _body(b) for i, b in client.hgetall(key("j")).items()},
        "moved": {n: int(f[b"tier"]) if b"tier" in f else None for n, f in moved.items()},
        "stale": sorted(
            (s[:1], s[12:])
            for seats in [*rings, *inner]
            for s in seats
            if s[:1] < b"4" and int(s[1:12], 16) < int(moved.get(s[12:], {}).get(b"moved", 0))
        ),
        "lanes": lanes,
        "rings": [[(s[:1], s[12:]) for s in ring] for ring in rings],
        "tenants": {
            tuple(s.split(b":", 1)): [
                (seat[:1], seat[12:]) for seat in client.lrange(key(b"tr:" + s), 0, -1)
            ]
            for s in suffixes(b"tr")
        },
        "shut": {
            (field[1:], name)
            for name, fields in tenants.items()
            for field in fields
            if field[:1] == b"o" and len(field) == 2
        },
        "tenant_able": _by_lane(tenants, b"e"),
        "tenant_running": {n: int(f[b"run"]) for n, f in tenants.items() if b"run" in f},
        "tenant_apart": {n: _bounds(f) for n, f in tenants.items() if b"state" in f},
        "tenant_shares": _by_lane(tenants, b"c"),
        "tallies": {
            name: {k.decode(): int(n) for k, n in client.hgetall(key(b"tt:" + name)).items()}
            for name in suffixes(b"tt")
        },
        "bounds": {name: int(said) for name, said in client.hgetall(key("mt")).items()},
        "books": [_book(_swap(client, key(b"fl:" + s))) for _, s in books],
        "delayed": [i for _, i in _swap(client, key("dl"))],
        "urgent": [i for _, i in _swap(client, key("du"))],
        "asides": client.hgetall(key("ua")),
        "unique": (client.hgetall(key("u")), client.hgetall(key("uk"))),
        "expiring": set(client.hkeys(key("ex"))),
        "limits": {i: _said(said) for i, said in client.hgetall(key("lm")).items()},
        "gated": {
            tuple(s.split(b"~", 1)): client.lrange(key(b"gq:" + s), 0, -1) for s in suffixes(b"gq")
        },
        "at_gates": {s: client.lrange(key(b"gr:" + s), 0, -1) for s in suffixes(b"gr")},
        "gates": tuple(
            _some({gate: int(n) for gate, n in client.hgetall(key(name)).items()})
            for name in ("gt", "ga")
        ),
        "dead": [i for _, i in _swap(client, key("dead"))],
        "attempts": {i: int(n) for i, n in client.hgetall(key("at")).items()},
        "crashes": {i: int(n) for i, n in client.hgetall(key("cr")).items()},
        "errors": client.hgetall(key("er")),
        "progress": client.hgetall(key("pr")),
        "cancels": set(client.hkeys(key("cn"))),
        "marks": set(client.hkeys(key("cx"))),
        "ended": [client.smembers(key("dn:0")), client.smembers(key("dn:1"))],
        "results": {i: client.get(key(b"r:" + i)) for i in suffixes(b"r")},
        "groups": {n: _fields(fields) for n, fields in groups.items()},
        "managed": {n: int(room) for n, room in client.hgetall(key("mg")).items()},
        "out": set(_by_lane(groups, b"o")),
        "waiting": _by_lane(groups, b"w"),
        "able": _by_lane(groups, b"c"),
        "apart": {n: _settings(f) for n, f in groups.items() if b"state" in f},
        "counters": {k: v for k, v in counters.items() if v and k not in _TIMES},
        "closings": client.hgetall(key("mr")),
        "draining": client.hlen(key("dr")),
        "to_recover": client.llen(key("rec")),
        "commands": [
            (i, [x for k, v in f.items() if k != b"expires" for x in (k, v)] + [b"expires"])
            for i, f in client.xrange(key("cmd"))
        ],
        "checkpoint": int(target) if target else None,
        "tokens": client.lrange(key("wk"), 0, -1),
    }


def _seat(seat: Seat) -> tuple[bytes, bytes]:
    if seat.tenant:
        return b"%d" % (seat.tier + 4), seat.tenant
    return b"%d" % seat.tier, seat.group


def _swap(client: Any, key: bytes) -> list[tuple[float, bytes]]:
    return [(score, member) for member, score in client.zrange(key, 0, -1, withscores=True)]


def _state(state: bytes) -> bytes:
    return b"epoch" if state.isdigit() and state != b"0" else state


def _said(said: bytes) -> tuple[bytes, bytes]:
    state, gate = said.split(b"|", 1)
    return _state(state), gate


def _some(counts: dict[bytes, int]) -> dict[bytes, int]:
    return {name: n for name, n in counts.items() if n}


def _body(body: bytes) -> bytes:
    return body[:2] + body[13:]


def _book(entries: Any) -> list[tuple[float, bytes]]:
    return [(0 if score >= STARTED else score, job_id) for score, job_id in entries]


def _totals(group: Group) -> tuple[Any, ...]:
    totals = tuple(getattr(group, name) for name in _GROUP_TOTALS)
    times = (group.finished, group.cancelled_at, group.hold)
    return (*totals, *(ms > 0 for ms in times), group.expires is not None)


def _fields(fields: dict[bytes, bytes]) -> tuple[Any, ...]:
    texts = (b"state", b"rt")
    number = {k.decode(): int(v) for k, v in fields.items() if k not in texts}
    totals = tuple(number.get(name, 0) for name in _GROUP_TOTALS)
    return (*totals, *(number.get(name, 0) > 0 for name in ("finished", "cancelled_at", "hold")))


def _settings(fields: dict[bytes, bytes]) -> tuple[str, int, int, bool]:
    number = {name: int(fields.get(name, 0)) for name in (b"apart", b"max", b"serial")}
    state = fields[b"state"].decode()
    return state, number[b"apart"], number[b"max"], bool(number[b"serial"])


def _bounds(fields: dict[bytes, bytes]) -> tuple[str, int, bool, int]:
    most = int(fields.get(b"max", 0))
    return fields[b"state"].decode(), int(fields[b"apart"]), b"hold" in fields, most


def _by_lane(groups: dict[bytes, dict[bytes, bytes]], kind: bytes) -> dict[Any, int]:
    return {
        (name[1:], group): int(value)
        for group, fields in groups.items()
        for name, value in fields.items()
        if len(name) == 2 and name[:1] == kind and value != b"0"
    }
