"""A limit at its home in memory: what is recorded of it. Pure. Times are us unless named ms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from queuepool.testing.scored import ScoredSet

_DAY_MS = 86_400_000
_PATIENCE_MS = 3000  # after which who did not ask again has left its line
_DEFINITION = re.compile(rb"(\d+):(\d+):(\d+):(\d+):(\d+):(\d+)")


class Definition(NamedTuple):
    """A definition as numbers; 0: none."""

    rate: int = 0
    per: int = 0
    burst: int = 1
    permits: int = 0
    least: int = 1
    most: int = 0


def definition_of(text: bytes) -> Definition | None:
    """Return a definition, None if the text is not one."""
    match = _DEFINITION.fullmatch(text)
    if match is None:
        return None
    rate, per, burst, permits, least, most = map(int, match.groups())
    d = Definition(rate, per, max(1, burst), permits, max(1, least), most)
    too_large = max(rate, d.burst, permits, most) > 1e6 or per > 1e13
    malformed = (rate > 0) != (per > 0) or rate + permits == 0 or d.least > max(1, most)
    return None if too_large or malformed else d


@dataclass(slots=True)
class Entry:
    """What an asker has: permits, and until which ms it keeps those beyond its share.

    due_ms: when it asks again; 0: it has no permits and wants none, since slice_ms.
    """

    permits: int = 0
    due_ms: int = 0
    slice_ms: int = 0
    serial: int = 0


@dataclass(slots=True)
class Limit:
    """One limit. at: the ms when it was last noted; expires: the ms when it is forgotten."""

    set: bytes = b""
    code: bytes = b""
    paused: int = 0
    tat: int = 0
    wait: int = 0
    told: int = 0
    pace: float = 0.0
    cut: int = 0
    seen: int = 0
    granted: int = 0
    since: int = 0
    this: int = 0
    previous: int = 0
    at: int = 0
    expires: int | None = None
    entries: dict[bytes, Entry] = field(default_factory=dict)
    for_tokens: ScoredSet = field(default_factory=ScoredSet)
    for_permits: ScoredSet = field(default_factory=ScoredSet)

    @property
    def definition(self) -> Definition | None:
        """Return what holds: what people set, else what code declares."""
        return definition_of(self.set) or definition_of(self.code)

    @property
    def kept(self) -> bool:
        """Return whether people set anything of it."""
        return bool(self.set or self.paused)

    @property
    def used(self) -> int:
        """Return the permits in use."""
        return sum(entry.permits for entry in self.entries.values())

    def askers(self, but: bytes = b"") -> int:
        """Return how many, besides one, have permits or want any."""
        return sum(entry.due_ms > 0 for name, entry in self.entries.items() if name != but)

    def pace_of(self, d: Definition) -> float:
        """Return the tokens in `per`: its rate, or what an adaptive one has come to."""
        if not d.most:
            return d.rate
        known = d.least <= self.pace <= d.most
        return self.pace if known else max(d.least, min(d.rate, d.most))

    def note(self, now_ms: int) -> None:
        """Keep it for another day, about."""
        if not 0 <= now_ms - self.at < 3_600_000:
            self.at = now_ms
            self.expires = None if self.kept else now_ms + _DAY_MS

    def stop_keeping(self, now_ms: int) -> None:
        """Forget it in a day, if nobody asks for it and nothing is set."""
        if not self.set:
            self.expires = now_ms + _DAY_MS

    def rewind(self, us: int) -> None:
        """Wait no longer than the downstream said, when the clock went back."""
        if self.told > us:
            self.wait, self.told = max(0, us + self.wait - self.told), us

    def line(self, queue: ScoredSet, asker: bytes, now_ms: int) -> tuple[int, bool]:
        """Return how many others stand in a line, and whether the asker is the first."""
        others = len(queue) - (asker in queue)
        while others > 0:
            since, name = queue.entries(0, 1)[0]
            if name == asker:
                return others, True
            entry = self.entries.get(name) or Entry()
            if since <= now_ms <= entry.due_ms + _PATIENCE_MS:
                return others, False
            queue.remove(name)
            if not entry.permits:
                self.entries.pop(name, None)
            others -= 1
        return 0, True

    def turn(self, now_ms: int) -> None:
        """Begin another second of counting, if the last one is over."""
        age = now_ms - self.since
        if not 0 <= age < 1000:
            follows = 1000 <= age < 2000
            self.previous = self.this if follows else 0
            self.since, self.this = (self.since + 1000 if follows else now_ms), 0
