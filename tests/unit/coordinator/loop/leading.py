"""A pool in memory, its schedules, and the leaders that fire them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from coordinator.loop.firing import ScheduleRunner
from queuepool import Schedule
from queuepool.models import ScheduleStatus
from queuepool.tasks.registry import Registry
from queuepool.testing import MemoryPool
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead

registry = Registry()
ran: list[str] = []


@registry.task
def note() -> None:
    ran.append("note")


class CrashedError(Exception):
    """The process dies here."""


class Leading:
    """A pool in memory, its schedules, and who fires them."""

    def __init__(self, **limits: Any) -> None:
        self.pool = MemoryPool(2, registry=registry, **limits)
        self.events: list[Any] = []
        self.fired: Counter[str] = Counter()
        self.leads = True
        self.number = 0
        self.crash_at = -1  # calls to go
        self.lose_reply = False
        self._run = self.pool.server.run
        self.pool.server.run = self._counted  # type: ignore[method-assign]
        self.runner = self.elect()

    def elect(self, *, commands: bool = True) -> ScheduleRunner:
        """Let another process lead. commands: whether partitions hear of it from a command."""
        self.number += 1
        _, key = self.pool.system
        self._run(key, [lead.resign(f"n{self.number - 1}")])
        verb = lead.lead(f"n{self.number}", lease_ms=10**9, address="")
        epoch = verb.read(self._run(key, [verb])[0]).epoch
        for partition in self.pool.partitions() if commands else ():
            noop: dict[str, Any] = {"target_workers": 0, "reason": "", "expires_ms": 9}
            command = lead.command(epoch, 0, type="NOOP", partition=0, **noop)
            self._run(partition.key, [command])
        self.runner = ScheduleRunner(
            self.pool, lambda: epoch if self.leads else 0, emit=self.events.append
        )
        return self.runner

    def _counted(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        crash = self.crash_at == 0
        self.crash_at -= 1
        if crash and not self.lose_reply:
            raise CrashedError
        replies = self._run(key, verbs)
        for verb, reply in zip(verbs, replies, strict=True):
            if verb.script == "fire" and reply == b"1":
                job_id = verb.args[16]
                assert isinstance(job_id, bytes)
                self.fired[job_id.decode()] += 1
        if crash:
            raise CrashedError
        return replies

    def pass_(self, seconds: float) -> None:
        self.pool.clock.advance(seconds)

    def status(self, name: str = "s") -> ScheduleStatus:
        status = self.pool.schedules.get(name)
        assert status is not None
        return status

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def every(seconds: float = 60, **fields: Any) -> Schedule:
    return Schedule("s", note, every=seconds, **fields)
