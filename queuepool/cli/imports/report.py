"""What an import found and did. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from queuepool.cli.imports.foreign import Reason, RefusedError

_DETAILS = 20  # tasks that are named for each reason


@dataclass
class Report:
    """What was found, and its outcome. other: jobs there that are never moved, by state.

    already: they were here before this run. taken: someone else took them there while they were
    moved; they were cancelled here. queues: those known there, if this one has no jobs.
    """

    found: int = 0
    movable: int = 0
    moved: int = 0
    already: int = 0
    delayed: int = 0
    taken: int = 0
    tasks: Counter[str] = field(default_factory=Counter)
    refused: Counter[Reason] = field(default_factory=Counter)
    details: dict[Reason, Counter[str]] = field(default_factory=dict)
    other: dict[str, int] = field(default_factory=dict)
    queues: list[str] = field(default_factory=list)

    def refuse(self, error: RefusedError) -> None:
        """Count a job that stays where it is."""
        self.refused[error.reason] += 1
        seen = self.details.setdefault(error.reason, Counter())
        if error.detail and (error.detail in seen or len(seen) < _DETAILS):
            seen[error.detail] += 1
