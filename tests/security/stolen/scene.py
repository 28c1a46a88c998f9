"""A server with a job in every state, and more than one queue: something to steal and to spoil."""

from __future__ import annotations

from typing import Any

import redis

from queuepool.partitions.partition import OwnedPartition, Partition
from queuepool.protocol.keys import Keyspace
from queuepool.servers.sync import Server
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.owner import verbs as own
from queuepool.verbs.producer import route
from tests.contract import world as w
from tests.security.roles import GuardedServer

PAYLOAD, RESULT, ERROR = b"secret-payload", b"secret-result", b"secret-error"
GROUP, ADDRESS, REASON = b"secret-group", b"secret-address", b"secret-reason"
PARTITIONS = 2


class Scene:
    """One guarded server. restore() puts everything back as it was. Close it."""

    def __init__(self, guarded: GuardedServer) -> None:
        self.guarded, self.space = guarded, guarded.space
        self.base, self.system = self.space.partition(0), self.space.system()
        self.admin = redis.Redis.from_url(guarded.url("admin"))
        self.server = Server(guarded.url("admin"))
        self.partition = Partition(0, self.base, self.server)
        self.owner = self._fill()
        self._fill_others()
        self._stored = self.contents()

    def close(self) -> None:
        """Close the honest connections."""
        self.server.close()
        self.admin.close()

    def thief(self, role: str) -> redis.Redis:
        """Return a connection with the credential of a role; close it."""
        return redis.Redis.from_url(self.guarded.url(role), single_connection_client=True)

    def words(self, step: str) -> list[bytes]:
        """Return a command with the names of this server: {p} a partition, {s} the system."""
        names = {
            b"{p}": self.base,
            b"{s}": self.system,
            b"{queue}": Keyspace(self.space.stage, "other").partition(0),
            b"{stage}": Keyspace("other", self.space.queue).partition(0),
            b"{e}": b"%d" % self.owner.epoch,
            b"{big}": b"x" * 2**22,
        }
        words = step.encode().split(b" ")
        for name, value in names.items():
            words = [word.replace(name, value) for word in words]
        return words

    def contents(self) -> dict[bytes, Any]:
        """Return every key with its value."""
        return {key: self.admin.dump(key) for key in self.admin.scan_iter()}

    def restore(self) -> None:
        """Put everything back."""
        self.admin.flushall()
        self.admin.script_flush()
        for key, value in self._stored.items():
            self.admin.restore(key, 0, value)
        self.admin.select(1)
        self.admin.hset(self.base + b":j", "waiting", PAYLOAD)
        self.admin.select(0)

    def ask(self, verb: Verb[Any]) -> Any:
        """Return what an honest process learns of the system."""
        return verb.read(self.server.run(self.system, [verb])[0])

    def renewed(self) -> own.Renewal:
        """Return what the honest owner hears next. Raises FencedError when it is none any more."""
        return w.renew(self.owner)

    def _fill(self) -> OwnedPartition:
        world = w.World(self.partition, None, self.admin)
        payload = b'{"x":"%s"}' % PAYLOAD
        w.enqueue(world, ["ended", "dead", "failed", "running", "waiting"], GROUP, payload=payload)
        w.enqueue(world, ["later"], GROUP, delay_ms=10**9)
        owned = world.own()
        assert len(w.claim(owned, 4).ids) == 4
        body = len(w.tail(GROUP, payload)) + 13
        acks = {GROUP: own.Acks(body, [b"ended"], [(b"ended", 10**9, b'"%s"' % RESULT)])}
        assert owned.run(own.finish(owned.ownership, acks)).finished == 1
        error = b'{"message":"%s"}' % ERROR
        assert owned.run(own.bury(owned.ownership, [(b"dead", error)], **w.KEEP)).status == b"b"
        retried = owned.run(own.retry(owned.ownership, [(b"failed", 10**9, True, error)]))
        assert retried == b"r", retried
        self.ask(lead.lead("honest", lease_ms=10**9, address=ADDRESS.decode()))
        self.ask(lead.set_manual(0, 3, ttl_ms=10**9))
        self.ask(route.record(PARTITIONS, "mod"))
        self.partition.run(
            lead.command(
                1, 1, type="SCALE_UP", partition=0, target_workers=3, reason=REASON.decode(),
                expires_ms=10**9,
            )
        )  # fmt: skip
        leader = self.ask(lead.lead("honest", lease_ms=10**9, address=ADDRESS.decode()))
        assert self.ask(lead.record(leader.epoch, [(0, b'{"reason":"%s"}' % REASON)], keep=10)) == 1
        return owned

    def _fill_others(self) -> None:
        for name in (b"{queue}", b"{stage}"):
            base = self.words(name.decode())[0]
            self.admin.hset(base + b":j", "waiting", b"of others")
            self.admin.hset(base + b":o", "nonce", "theirs")
            self.admin.rpush(base + b":wk", "w")
        self.admin.set("elsewhere", b"of others")
