"""A server in memory: every verb, on plain Python data, with the replies of a real one."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from queuepool.errors import ScriptError, UnavailableError
from queuepool.servers import Memory, Reply
from queuepool.testing import (
    admitting,
    auditing,
    batches,
    cancelling,
    carrying,
    carrying_batches,
    checking,
    claiming,
    delivering,
    ending,
    finding,
    grouping,
    holding,
    leading,
    limiting,
    logbook,
    managing,
    operating,
    owning,
    producing,
    reading_batches,
    routed,
    scheduling,
    taking_out,
    tenants,
)
from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args
from queuepool.testing.operating import to_bytes
from queuepool.testing.records import SystemData
from queuepool.verbs import Verb
from queuepool.verbs.scripts import names, script

_VERBS: Mapping[str, Callable[[Any, Args], Any]] = {  # each is named after its script
    name: verb
    for module in (
        *(producing, cancelling, managing, holding, claiming, admitting, ending),
        *(owning, operating, finding, leading, limiting, delivering, scheduling, tenants, batches),
        *(routed, checking, carrying, taking_out, carrying_batches, reading_batches),
        *(logbook, grouping, auditing),
    )
    for name, verb in vars(module).items()
    if name in names() and getattr(verb, "__module__", "") == module.__name__
}
_OF_SYSTEM = {name for name in names() if script(name).header("KEYS[1]").startswith("system")}
_ARMED_S = 1.0

# A process has nothing that survives it: every confirmation is granted.
_PERSISTENCE = {
    b"appendonly": b"yes",
    b"appendfsync": b"always",
    b"no-appendfsync-on-rewrite": b"no",
}
_INFO = (
    b"# Server\r\nrun_id:memory\r\nuptime_in_seconds:1\r\nmaxmemory:0\r\n"
    b"maxmemory_policy:noeviction\r\naof_enabled:1\r\naof_last_write_status:ok\r\nconnected_slaves:0\r\nevicted_keys:0\r\n"
)
_COMMANDS: Mapping[bytes, Callable[[Args], Any]] = {
    b"WAIT": lambda args: int(args[1]),
    b"WAITAOF": lambda args: [int(args[1]), int(args[2])],
    b"CONFIG": lambda args: [x for name in args[2:] for x in (name, _PERSISTENCE[name])],
    b"SCRIPT": lambda _args: b"",
    b"INFO": lambda _args: _INFO,
}


class MemoryServer:
    """Keeps partitions in this process, and only there. Safe to share between threads.

    clock: seconds since 1970, such as a FakeClock; by default the machine's own.
    """

    def __init__(self, clock: Callable[[], float] = time.time, *, name: str = "memory") -> None:
        self._clock, self._name = clock, name
        self._changed = threading.Condition()
        self._partitions: defaultdict[bytes, PartitionData] = defaultdict(PartitionData)
        self._systems: defaultdict[bytes, SystemData] = defaultdict(SystemData)

    @property
    def name(self) -> str:
        """Return a name for people."""
        return self._name

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key; one reply each, in order."""
        return self.run_many([(key, verb) for verb in verbs])

    def run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Reply]:
        """Run verbs on several base keys."""
        with self._changed:
            replies = [self._run(key, verb) for key, verb in calls]
            self._changed.notify_all()
        return replies

    def stream(self, key: bytes, window: int) -> MemoryStream:
        """Return a pipe; what is pushed is run at once."""
        return MemoryStream(self, key, window)

    def doorbell(self, key: bytes) -> MemoryBell:
        """Return the doorbell on which an idle owner of this partition sleeps."""
        return MemoryBell(self, key, self._changed)

    def info(self) -> dict[str, Any]:
        """Return a server's INFO, as far as it makes sense here."""
        with self._changed:
            jobs = sum(len(data.jobs) for data in self._partitions.values())
        return {
            "redis_version": "memory",
            "redis_mode": "standalone",
            "role": "master",
            "used_memory": sum(data.counters.get("bytes", 0) for data in self._partitions.values()),
            "maxmemory": 0,
            "maxmemory_policy": "noeviction",
            "jobs": jobs,
        }

    def memory(self, key: bytes) -> Memory:  # noqa: ARG002
        """Return the bytes of all jobs, and no limit."""
        return Memory(self.info()["used_memory"], 0)

    def close(self) -> None:
        """Do nothing: there is no connection to close, and the data stays readable."""

    def data(self, key: bytes) -> PartitionData:
        """Return the data behind a partition's base key, for tests that look inside."""
        return self._partitions[key]

    def _run(self, key: bytes, verb: Verb[Any]) -> Reply:
        args = [to_bytes(argument) for argument in verb.args]
        if not verb.script and args[0] == b"HGETALL":  # of the route record alone
            system = self._systems[args[1].removesuffix(b":route")]
            return [x for pair in system.route.items() for x in pair]
        if not verb.script:
            return _COMMANDS[args[0]](args)
        # The errors of sums of seconds do not add up to a millisecond.
        now_ms = int(round(self._clock() * 1000, 1))
        if verb.script in _VERBS:
            in_system = verb.script in _OF_SYSTEM
            data = self._systems[key] if in_system else self.data(key)
            data.now = now_ms
            reply = _VERBS[verb.script](data, args)
            if isinstance(data, PartitionData):
                tenants.tune_tenants(data)
            return reply
        return ScriptError(
            f"{self._name} knows no script {verb.script!r}: add it to queuepool.testing"
        )


class MemoryBell:
    """The owner's doorbell; its timeouts are real seconds, whatever the clock."""

    lifeline = ""

    def __init__(self, server: MemoryServer, key: bytes, changed: threading.Condition) -> None:
        self._server, self._key, self._changed = server, key, changed
        self._tokens = server.data(key).tokens
        self._rung = False
        self._armed: Verb[Any] | None = None
        self._armed_s = 0.0
        self._reply: Reply = None

    def settle(self) -> None:
        """There are no connections."""

    def ring(self) -> None:
        """Make the current or the next wait return."""
        with self._changed:
            self._rung = True
            self._changed.notify_all()

    def wait(self, timeout_s: float) -> bytes | None:
        """Sleep until a wake token, a ring, or the timeout; return the token if there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._rung or self._tokens, timeout_s)
            self._rung = False
            token = self._tokens.popleft() if self._tokens else None
        late = time.monotonic() - self._armed_s > _ARMED_S
        if self._armed is not None and (token is not None or late):
            self._reply, self._armed = self._server.run(self._key, [self._armed])[0], None
        return token

    def arm(self, verb: Verb[Any]) -> bool:
        """Make the verb run right after the next token, or within a second without one."""
        if self._armed is not None or self._reply is not None:
            return False
        self._armed, self._armed_s = verb, time.monotonic()
        return True

    def answer(self) -> Reply:
        """Return the armed verb's reply, once; None while it is pending."""
        reply, self._reply = self._reply, None
        return reply

    def disarm(self) -> None:
        """Take the armed verb back."""
        if self._armed is not None:
            self._armed, self._reply = None, UnavailableError("disarmed: it did not happen")

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class MemoryStream:
    """Verbs whose replies are read later. For one thread."""

    def __init__(self, server: MemoryServer, key: bytes, window: int) -> None:
        self._server, self._key = server, key
        self._replies: deque[Reply] = deque(maxlen=window)

    def push(self, verb: Verb[Any]) -> None:
        """Run a verb."""
        self._replies.append(self._server.run(self._key, [verb])[0])

    def pull(self) -> Reply:
        """Return the oldest reply that was not pulled."""
        return self._replies.popleft()

    def hurry(self, timeout_s: float) -> None:
        """Do nothing: every reply is here."""

    def close(self) -> None:
        """Drop replies that no one pulled. Idempotent."""
        self._replies.clear()


class AsyncMemoryServer:
    """The same data for asyncio. Never blocks longer than a verb takes."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    @property
    def name(self) -> str:
        """Return a name for people."""
        return self._server.name

    async def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        """Run verbs on one base key; one reply each, in order."""
        return self._server.run(key, verbs)

    def forget(self) -> None:
        """Do nothing: it belongs to no event loop."""

    async def close(self) -> None:
        """Do nothing, like MemoryServer.close."""
