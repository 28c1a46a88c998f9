"""A coordinator's events as entries of the log: a listener. Never waits, and never fails an act.

What the doctor finds and what happens to partitions is written by the leader alone.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable

from coordinator.core import events as e
from coordinator.core.model import Mode, PartitionDecision, Snapshot
from coordinator.core.owners import OwnerChanges
from coordinator.policy import Direction
from queuepool import __version__
from queuepool.models.log import LogEntry, LogKind
from queuepool.models.places import DEFAULT_POOL, place_text

_EACH = 5  # decisions of one cycle; more become one entry
Write = Callable[[LogEntry], None]


class LogEntries:
    """Turns the events of one pool's coordinator into entries."""

    def __init__(self, write: Write, pool: str = DEFAULT_POOL) -> None:
        self._write, self._pool = write, pool
        self._me = f"{platform.node()}:{os.getpid()}"
        self._owners = OwnerChanges()
        self._decided: list[PartitionDecision] = []
        self._leading = False

    def __call__(self, event: object) -> None:
        """Write what belongs into the log."""
        match event:
            case e.OperatorCalled() if event.entry is not None:
                self._write(event.entry)
            case e.LeadGained(epoch):
                self._leading = True
                self._lead("leads", "", f"epoch {epoch}, version {__version__}")
            case e.LeadLost(epoch, why):
                self._leading = False
                self._lead("leads no more", why, f"epoch {epoch}")
            case e.Decided(decision):
                if decision.direction is not Direction.HOLD and decision.mode is not Mode.OBSERVE:
                    self._decided.append(decision)
            case e.ScalingRefused(version, problem):
                if self._leading:
                    self._scaling("not obeyed", f"the scaling record, version {version}", problem)
            case e.CycleEnded(_, snapshot):
                self._cycle_ended(snapshot)
            case e.MoveBegun(move, why):
                self._act("move", move.removeprefix("of "), why)
            case e.FindingCame(finding):
                self._finding("found", finding.subject, f"{finding.kind}: {finding.what}")
            case e.FindingWent(finding):
                self._finding("ended", finding.subject, finding.kind)

    def _lead(self, what: str, why: str, outcome: str) -> None:
        subject = "" if self._pool == DEFAULT_POOL else f"pool {self._pool}"
        self._write(
            LogEntry(
                kind=LogKind.LEADER,
                what=what,
                subject=subject,
                who=self._me,
                why=why,
                outcome=outcome,
            )
        )

    def _act(self, what: str, subject: str, why: str) -> None:
        self._write(
            LogEntry(
                kind=LogKind.ACT,
                what=what,
                subject=subject,
                who=self._me,
                via="COORDINATOR_AUTO_MOVES",
                why=why,
                outcome="began",
            )
        )

    def _finding(self, what: str, subject: str, outcome: str) -> None:
        if self._leading:
            self._write(
                LogEntry(
                    kind=LogKind.FINDING, what=what, subject=subject, who="doctor", outcome=outcome
                )
            )

    def _scaling(self, what: str, subject: str, why: str, outcome: str = "") -> None:
        self._write(
            LogEntry(kind=LogKind.SCALING, what=what, subject=subject, why=why, outcome=outcome)
        )

    def _cycle_ended(self, snapshot: Snapshot) -> None:
        changes = self._owners.look(snapshot.partitions)  # also on a standby: it may lead next
        decided, self._decided = self._decided, []
        if not snapshot.leading:
            return
        for entry in changes:
            self._write(entry)
        if len(decided) <= _EACH:
            for one in decided:
                where = f"partition {place_text(one.partition, self._pool)}"
                self._scaling("scale", where, one.reason, f"{one.previous} -> {one.target} workers")
            return
        before, after = sum(d.previous for d in decided), sum(d.target for d in decided)
        most = max(decided, key=lambda one: abs(one.target - one.previous))
        self._scaling(
            "scale",
            f"{len(decided):,} partitions"
            + ("" if self._pool == DEFAULT_POOL else f" of pool {self._pool}"),
            f"most: partition {place_text(most.partition, self._pool)}, {most.previous} -> "
            f"{most.target}: {most.reason}",
            f"{before:,} -> {after:,} workers together",
        )
