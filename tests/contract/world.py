"""A partition to test on: in memory or on a real server, with the same ways to move time.

No server's clock can be moved. What can be moved is everything that was written before: `advance`
puts all stored times of a real server back, which is the same to every script, since scripts only
compare a stored time with the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from queuepool.models.tenants import tenant_of
from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.protocol import codec
from queuepool.protocol.keys import Keyspace
from queuepool.servers.sync import Server
from queuepool.testing import FakeClock, MemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import verbs as produce
from tests.contract.limiting import age_limit

LIMITS = {"max_depth": 1_000_000, "max_bytes": 2**40}
WEIGHTS = (6, 3, 2, 1)
STRICT = (0, 0, 0, 0)
KEEP = {"keep_jobs": 100_000, "keep_bytes": 2**40, "keep_ms": 10**12}
_HELD: dict[bytes, list[Any]] = {}  # base key -> bodies of each claim, as tests hold them


def tail(group: bytes, payload: bytes = b"{}", slot: int = 7, task: str = "t") -> bytes:
    """Return what a producer sends of a body."""
    return codec.encode_tail(slot, group) + codec.beginning_of(task) + payload + b"]"


def enqueue(
    world: World, ids: Sequence[str | bytes], group: bytes = b"g", **options: Any
) -> bytes | produce.Conflicts | produce.Full:
    """Enqueue jobs of one group, with options of `enqueue_verb`; returns the status of each."""
    return world.partition.run(enqueue_verb(ids, group, **options))


def enqueue_verb(
    ids: Sequence[str | bytes],
    group: bytes = b"g",
    *,
    tier: int = 2,
    delay_ms: int = 0,
    payload: bytes = b"{}",
    task: str = "t",
    max_depth: int = LIMITS["max_depth"],
    max_bytes: int = LIMITS["max_bytes"],
    unique: Mapping[int, bytes] | None = None,
    until: bytes = b"e",
    expires_ms: int = 0,
    limits: bytes = b"",
) -> Verb[produce.Settled | produce.Full]:
    """Return the call by which `enqueue` enqueues.

    unique: keys by place in the ids, held until the end (e) or the start (s).
    """
    text = tail(group, payload, task=task)
    runs: list[Any] = [tier + 4 * (tenant_of(group) is not None), group, delay_ms, len(ids)]
    for job_id in ids:
        runs += [job_id, text]
    return produce.enqueue(
        runs,
        _wishes(len(ids), unique or {}, until, expires_ms, limits),
        jobs=len(ids),
        size_bytes=len(ids) * (13 + len(text)),
        max_depth=max_depth,
        max_bytes=max_bytes,
    )


@dataclass
class World:
    """One partition and what stands behind it. damaged: the test broke it on purpose."""

    partition: Partition
    clock: FakeClock | None
    client: Any
    damaged: bool = False
    books_of: dict[bytes, int] = field(default_factory=dict)

    @property
    def in_memory(self) -> bool:
        """Return whether there is no server behind it."""
        return self.client is None

    @property
    def system(self) -> bytes:
        """Return the base key of what coordinators share."""
        return self.partition.key + b"-sys"

    def advance(self, seconds: float) -> None:
        """Let time pass: exactly, for everything that is stored."""
        if self.clock is not None:
            self.clock.advance(seconds)
        else:
            age(self.client, self.partition.key, round(seconds * 1000))
            age(self.client, self.system, round(seconds * 1000))

    def own(self, *, lease_s: float = 600.0, nonce: str | None = None) -> OwnedPartition:
        """Acquire the partition."""
        owned = self.partition.acquire(lease_s=lease_s, host="test", nonce=nonce)
        assert isinstance(owned, OwnedPartition), owned
        return owned

    def counters(self) -> dict[str, int]:
        """Return the counters that are not 0."""
        return {k: v for k, v in self.partition.observe().counters.items() if v}


def claim(
    owned: OwnedPartition,
    limit: int = 100,
    *,
    starting: int | None = None,
    weights: tuple[int, int, int, int] = WEIGHTS,
    age_ms: int = 0,
    max_bytes: int = own.CLAIM_BYTES,
    ahead: Sequence[bytes] = (),
    shortest_ms: int | None = None,
) -> own.Claims:
    """Claim jobs; by default all of them start at once."""
    verb = own.claim(
        owned.ownership,
        limit,
        starting=limit if starting is None else starting,
        promote_after_ms=age_ms,
        weights=weights,
        max_bytes=max_bytes,
        ahead=ahead,
        shortest_ms=shortest_ms,
    )
    claims = owned.run(verb)
    _HELD.setdefault(owned.partition.key, []).append(claims.bodies)
    return claims


def finish(
    owned: OwnedPartition, claims: own.Claims, *places: int, results: bool = False
) -> own.Finished:
    """Finish claimed jobs, all or those at the places given, as a consumer does: also strays."""
    acks: dict[bytes, own.Acks] = {}
    for place in places or range(len(claims.ids)):
        job_id, body = claims.ids[place], claims.bodies[place]
        ack = acks.setdefault(codec.read_group(body), own.Acks())
        ack.size_bytes += len(body)
        ack.ids.append(job_id)
        if results:
            ack.results.append((job_id, 600_000, b'"r-%s"' % job_id))
    done = owned.run(own.finish(owned.ownership, acks))
    if not done.left:
        return done
    results_of = {i: result for ack in acks.values() for i, *result in ack.results}
    strays = [
        (i, codec.read_stamp(claims.bodies[claims.ids.index(i)]), *results_of.get(i, (0, b"")))
        for i in done.left
    ]
    late = owned.run(own.finish_stray(owned.ownership, strays))
    return own.Finished(
        done.finished + late.finished, done.duplicates + late.duplicates, late.rolled_back
    )


def retry(
    owned: OwnedPartition, ids: Sequence[bytes], *, delay_ms: int = 0, charge: bool = True
) -> bytes:
    """Send jobs back to delayed."""
    return owned.run(
        own.retry(owned.ownership, [(i, delay_ms, charge, b'{"reason":"failed"}') for i in ids])
    )


def bury(owned: OwnedPartition, ids: Sequence[bytes], **keep: int) -> bytes:
    """Bury jobs; returns the status of each."""
    return owned.run(
        own.bury(owned.ownership, [(i, b'{"reason":"permanent"}') for i in ids], **(KEEP | keep))
    ).status


def promote(owned: OwnedPartition) -> own.Promoted:
    """Promote until nothing more is due; returns the sums."""
    promoted = cancelled = 0
    while True:
        p = owned.run(own.promote(owned.ownership))
        promoted, cancelled = promoted + p.promoted, cancelled + p.cancelled
        if p.next_due_ms != 0:
            return own.Promoted(promoted, cancelled, p.next_due_ms)


def recover(owned: OwnedPartition, *, max_crashes: int = 3) -> list[own.Recovered]:
    """Recover until no book is left; returns every step."""
    steps = []
    while True:
        verb = own.recover(owned.ownership, max_crashes=max_crashes, error=b'{"reason":"crashed"}')
        steps.append(owned.run(verb))
        if not steps[-1].epochs_to_recover:
            return steps


def renew(
    owned: OwnedPartition, *, lease_s: float = 600.0, beat: int = 1, applied: str = "0-0"
) -> own.Renewal:
    """Renew a lease."""
    return owned.run(
        own.renew(
            owned.ownership,
            lease_ms=int(lease_s * 1000),
            beat=beat,
            workers=4,
            busy=2,
            target=4,
            applied=applied,
        )
    )


def book(owned: OwnedPartition) -> list[bytes]:
    """Return the ids booked under an owner's epoch: what started, then what waits in memory."""
    verb: Verb[Any] = own.in_flight(owned.ownership)
    return list(owned.run(verb))


def drain(owned: OwnedPartition) -> list[str]:
    """Claim and finish everything that is ready, one batch at a time; returns the ids in order."""
    order: list[str] = []
    while True:
        claims = claim(owned, 200)
        if not claims.taken:
            return order
        order += [i.decode() for i in claims.ids]
        finish(owned, claims)


def names(prefix: str, n: int) -> list[str]:
    """Return n job ids in the order of their bytes."""
    return [f"{prefix}{i:05d}" for i in range(n)]


def miscount(world: World, tier: int, by: int) -> None:
    """Change the counter of a tier's ready jobs."""
    server = world.partition.server
    if isinstance(server, MemoryServer):
        server.data(world.partition.key).count(f"r{tier}", by)
    else:
        world.client.hincrby(world.partition.key + b":c", f"r{tier}", by)


def memory_world() -> World:
    """Return an empty partition in memory."""
    clock = FakeClock()
    server = MemoryServer(clock)
    return World(Partition(0, Keyspace().partition(0), server), clock, None)


def real_world(url: str, stage: str) -> World:
    """Return an empty partition on a real server."""
    key = Keyspace(stage=stage).partition(0)
    return World(Partition(0, key, Server(url)), None, redis.Redis.from_url(url))


def _wishes(
    jobs: int, unique: Mapping[int, bytes], until: bytes, expires_ms: int, limits: bytes
) -> list[Any]:
    wishes: list[Any] = []
    for place in range(jobs):
        if place in unique or expires_ms or limits:
            key = unique.get(place)
            wishes += (place + 1, b"" if key is None else until, key or b"", expires_ms, limits)
    return wishes


def age(client: Any, base: bytes, ms: int, *, stamps: bool = True) -> None:
    """Put every time below a base key back by so many ms, and the stamps of what was claimed.

    stamps: whether also those of bodies and cancellations, which only tests may hold that know.
    """
    for bodies in _HELD.get(base, ()) if stamps else ():
        bodies[:] = [older(body, ms) for body in bodies]
    for key in list(client.scan_iter(match=_literal(base) + b":*", count=1000)):
        suffix = key[len(base) + 1 :]
        kind = suffix.split(b":")[0]
        ttl = client.pttl(key)
        if ttl > 0:
            if ttl <= ms:
                client.delete(key)
                continue
            client.pexpire(key, ttl - ms)
        if kind in (b"o", b"g", b"c", b"ck", b"leader", b"b"):
            _age_fields(client, key, ms, () if stamps else ("cut", "cancelled_at"))
        elif kind in (b"li", b"lc"):
            age_limit(client, key, kind, ms)
        elif kind in (b"dl", b"du", b"dead", b"fl", b"lt", b"lw", b"bd"):
            scores = client.zrange(key, 0, -1, withscores=True)
            client.zadd(key, {m: s - ms if abs(s) >= 1e12 else s for m, s in scores})
        elif kind in (b"ring", b"tr"):
            seats = [
                s[:1] + b"%011x" % (int(s[1:12], 16) - ms) + s[12:]
                for s in client.lrange(key, 0, -1)
            ]
            client.delete(key)
            client.rpush(key, *seats)
        elif kind in (b"j", b"fo", b"bf") and stamps:
            _age_stamps(client, key, kind, ms)
        elif kind in (b"dr", b"manual", b"ex"):
            for name, value in client.hgetall(key).items():
                client.hset(key, name, _earlier(kind, value, ms, stamps=stamps))


def _earlier(kind: bytes, value: bytes, ms: int, *, stamps: bool) -> bytes:
    if kind == b"ex":
        stamp = b"%011x" % (int(value[:11], 16) - ms) if stamps else value[:11]
        return stamp + b"%d" % (int(value[11:]) - ms)
    text, _, until = value.rpartition(b":")
    return b"%s:%d" % (text, int(until) - ms)


def _age_stamps(client: Any, key: bytes, kind: bytes, ms: int) -> None:
    """Put back the stamps of bodies, and of what batches are to hear, or have heard."""

    def aged(text: bytes) -> bytes:
        at = int(text, 16)
        return b"%011x" % (at - ms) if at > ms else text

    if kind == b"j":
        client.hset(key, mapping={i: older(b, ms) for i, b in client.hgetall(key).items()})
        return
    if kind == b"bf":
        for number, text in client.hgetall(key).items():
            stamps = aged(text[1:12]) + aged(text[12:23])
            client.hset(key, number, text[:1] + stamps + text[23:])
        return
    entries = client.xrange(key)
    client.delete(key)
    for entry, told in entries:
        client.xadd(key, {i: t[:1] + aged(t[1:12]) + t[12:] for i, t in told.items()}, id=entry)


def older(body: bytes, ms: int) -> bytes:
    """Return a body as if it had been enqueued so many ms before."""
    return body[:2] + b"%011x" % (int(body[2:13], 16) - ms) + body[13:]


def _age_fields(client: Any, key: bytes, ms: int, but: Sequence[str]) -> None:
    times = (
        *("expires", "heartbeat", "since", "created", "finished", "cancelled_at", "at"),
        *("cut", "dn_since", "aside", "hold", "moved", "due", "ended"),
    )
    for name in set(times).difference(but):
        value = client.hget(key, name)
        if value and int(value) > 0:
            client.hset(key, name, int(value) - ms)


def _literal(pattern: bytes) -> bytes:
    return pattern.replace(b"[", b"\\[").replace(b"*", b"\\*").replace(b"?", b"\\?")
