"""The same simulation over the real scripts: a server's partition, read back after every call.

No server's clock can be moved, so whatever is stored is moved instead (tests.contract.world.age),
until the server's time since the beginning is the virtual time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import redis

from queuepool.servers.sync import Server
from tests.contract.world import age
from tests.simulation.journal import Journal
from tests.simulation.ledger import Ledger
from tests.simulation.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class _Owner:
    nonce: bytes
    epoch: int
    expires: int


class _Dead:
    def __init__(self, ids: list[bytes]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def entries(self) -> list[tuple[float, bytes]]:
        return [(0.0, job_id) for job_id in self._ids]


class Image:
    """What a ledger reads of a partition, as it was after the last call."""

    def __init__(self, client: Any, base: bytes) -> None:
        self._client, self._base = client, base
        self.tokens: deque[bytes] = deque()
        self.groups: dict[bytes, Any] = {}
        self.look()

    def look(self) -> None:
        """Read it all again."""
        pipe, base = self._client.pipeline(transaction=True), self._base
        pipe.hkeys(base + b":j")
        pipe.zrange(base + b":dead", 0, -1)
        pipe.hmget(base + b":o", "nonce", "epoch", "expires")
        pipe.hgetall(base + b":dr")
        pipe.hgetall(base + b":c")
        pipe.lrange(base + b":rec", 0, -1)
        jobs, dead, owner, draining, counters, to_recover = pipe.execute()
        self.to_recover = [int(epoch) for epoch in to_recover]
        self.jobs = dict.fromkeys(sorted(jobs), b"")
        self.dead = _Dead(dead)
        nonce, epoch, expires = owner
        self.owner = None if epoch is None else _Owner(nonce, int(epoch), int(expires))
        self.draining = {int(e): _leaving(text) for e, text in draining.items()}
        self.counters = {name.decode(): int(n) for name, n in counters.items()}

    def running_epochs(self) -> list[int]:
        """Return the epochs whose jobs may run."""
        owns = [self.owner.epoch] if self.owner is not None and self.owner.nonce else []
        return [*self.draining, *owns]

    def pop_token(self) -> bytes | None:
        """Take a wake token."""
        token: bytes | None = self._client.lpop(self._base + b":wk")
        return token


def _leaving(text: bytes) -> tuple[bytes, int]:
    nonce, _, expires = text.rpartition(b":")
    return nonce, int(expires)


class RealLedger(Ledger):
    """A partition on a real server, in virtual time."""

    def __init__(
        self, scheduler: Scheduler, key: bytes, journal: Journal, *, url: str, system: bytes
    ) -> None:
        super().__init__(scheduler, key, journal)
        self._client, self._system = redis.Redis.from_url(url), system
        self.server: Any = Server(url)
        self.data: Any = Image(self._client, key)
        self._begun_ms, self._moved_ms = self._server_ms(), 0

    def close(self) -> None:
        """Give the connections back."""
        self.server.close()
        self._client.close()

    def pop_token(self) -> bytes | None:
        token: bytes | None = self.data.pop_token()
        return token

    def _server_ms(self) -> int:
        seconds, microseconds = self._client.time()
        return int(seconds) * 1000 + int(microseconds) // 1000

    def _catch_up(self) -> None:
        passed_ms = self._server_ms() - self._begun_ms + self._moved_ms
        behind_ms = round(self._scheduler.now_s * 1000) - passed_ms
        if abs(behind_ms) > 2:
            age(self._client, self.key, behind_ms, stamps=False)  # consumers hold bodies
            age(self._client, self._system, behind_ms)
            self._moved_ms += behind_ms
            self.data.look()

    def _now_ms(self) -> int:
        return self._server_ms()

    def _look(self) -> None:
        self.data.look()
