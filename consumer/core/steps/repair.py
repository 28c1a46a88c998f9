"""When an owner repairs its partition: one of its keys holds a foreign value. Pure.

Every verb that needs a key with a value of the wrong type is refused, with nothing written. The
program that wrote the value may remove it. If it stays, the owner audits the partition, page by
page: the first page deletes foreign values, the others repair the consequences.

    sound --refused for a while--> auditing --the round is over--> sound
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from consumer.core import events
from consumer.core.steps.step import Step
from queuepool.errors import ForeignValueError
from queuepool.models import AuditReport
from queuepool.verbs.operator import verbs as operate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.turn import Turn
    from queuepool.servers import Reply
    from queuepool.verbs import Verb

_TOLERATED_S = 2.0


class Repair(Step):
    """lease_s: a value that makes renewals fail is tolerated for half of it."""

    def __init__(self, lease_s: float) -> None:
        self._tolerated_s = min(_TOLERATED_S, lease_s / 2)
        self._refused: dict[str, tuple[float, float]] = {}  # script -> first and last time
        self._cursor: bytes | None = None
        self._found = AuditReport()

    @property
    def pending(self) -> bool:
        """Return whether the next turn audits."""
        return self._cursor is not None

    def on_replies(
        self, verbs: Sequence[Verb[Any]], replies: Sequence[Reply], now_s: float
    ) -> None:
        """Apply the outcome of the verbs of a turn."""
        refused = {
            verb.script
            for verb, reply in zip(verbs, replies, strict=True)
            if isinstance(reply, ForeignValueError)
        }
        if not refused and not self._refused:
            return
        began: dict[str, float] = {}
        for script in refused:
            first_s, last_s = self._refused.get(script, (now_s, now_s))
            began[script] = now_s if now_s - last_s > _TOLERATED_S else first_s
        for verb in verbs:
            self._refused.pop(verb.script, None)
        self._refused |= {script: (first_s, now_s) for script, first_s in began.items()}
        since_s = min(began.values(), default=now_s)
        if self._cursor is None and now_s - since_s >= self._tolerated_s:
            self._cursor, self._found = b"0", AuditReport()

    def due_s(self, now_s: float) -> float:
        return inf if self._cursor is None else now_s

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        return () if self._cursor is None else (operate.audit(self._cursor, repair=True),)

    def on_reply(self, page: tuple[bytes, AuditReport], turn: Turn) -> None:
        cursor, report = page
        self._found = self._found.plus(report)
        self._cursor = None if cursor == b"0" else cursor
        if not self.pending:
            self._refused = {}
            turn.events.append(events.Repaired(self._found))
