"""What is known of the candidate that runs beside the live policy."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.core.replay.shadow import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowReport:
    """A candidate as it was set, and how it compares so far.

    missed: cycles that it was too slow for. problem: why it ended before its time; empty if it did
    not.
    """

    text: str
    since_ms: int
    until_ms: int
    comparison: Comparison
    missed: int = 0
    problem: str = ""


class ShadowBoard:
    """The latest report. One thread replaces it, any thread reads."""

    def __init__(self) -> None:
        self.latest: ShadowReport | None = None
