"""How often each error came lately, and under which releases. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from queuepool.models.finding import fingerprint
from queuepool.models.jobs import JobStatus
from queuepool.models.log import LogEntry, LogKind

BARS, LONGEST_S = 12, 3600.0
_VERSION = re.compile(r"\bversion ([0-9A-Za-z.+!_-]{1,40})")


@dataclass(frozen=True, slots=True)
class Trends:
    """Deaths by fingerprint in `BARS` equal times of `span_s` until now, the latest last."""

    span_s: float
    counts: Mapping[str, tuple[int, ...]]

    def of(self, name: str) -> tuple[int, ...]:
        """Return the counts of an error."""
        return self.counts.get(name, (0,) * BARS)


def trends(latest: Sequence[JobStatus], now_ms: int, *, are_all: bool) -> Trends:
    """Return the trends of the jobs that died last.

    are_all: whether there are no others; if there are, the time is only what these jobs cover.
    """
    oldest_ms = min((job.at_ms for job in latest if job.at_ms), default=now_ms)
    covered_s = LONGEST_S if are_all else min(LONGEST_S, (now_ms - oldest_ms) / 1000)
    span_s = max(covered_s, 1.0)
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0] * BARS)
    for job in latest:
        ago_s = (now_ms - (job.at_ms or 0)) / 1000
        if job.error is not None and ago_s < span_s:
            bar = BARS - 1 - int(max(ago_s, 0.0) * BARS / span_s)
            found[fingerprint(job.task or "", job.error)][bar] += 1
    return Trends(span_s, {name: tuple(bars) for name, bars in found.items()})


def bars(counts: Sequence[int], most: int, width: int = 60, height: int = 16) -> str:
    """Return the path of bars."""
    step = width // max(len(counts), 1)
    tall = (max(1, round(height * n / max(most, 1))) if n else 0 for n in counts)
    return "".join(
        f"M{place * step} {height}v-{high}h{step - 1}v{high}z"
        for place, high in enumerate(tall)
        if high
    )


class Releases:
    """Which releases of consumers came when, as the log tells."""

    def __init__(self, entries: Iterable[LogEntry]) -> None:
        """entries: in the order of their times."""
        came = (
            (entry.at_ms, found[1])
            for entry in entries
            if entry.kind == LogKind.OWNER and (found := _VERSION.search(entry.outcome))
        )
        self._came = list(came)

    def at(self, ms: int | None) -> str:
        """Return the release that came last before a moment; "" if that is not known."""
        return next((name for at_ms, name in reversed(self._came) if at_ms <= (ms or 0)), "")

    def between(self, first_ms: int | None, last_ms: int | None) -> str:
        """Return the releases under which an error came first and last, for people."""
        first, last = self.at(first_ms), self.at(last_ms)
        return last if first in ("", last) else f"{first} to {last}"
