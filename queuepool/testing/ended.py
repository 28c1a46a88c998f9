"""The ids that ended recently, like the parts `remember` and `remembered`. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

MINUTE_MS = 60_000
MAX_ENDED = 2_000_000  # ids of one set


@dataclass(slots=True)
class Ended:
    """Ids that ended, cancelled ones with a mark: two sets, and since when which one is in use."""

    sets: list[set[bytes]] = field(default_factory=lambda: [set(), set()])  # dn:<0|1>
    in_use: int = 0
    since: int = 0

    def turn(self, now: int) -> None:
        """Switch to the other set, emptied, once this one was in use for a minute or is full."""
        for members in self.over(now):
            members.clear()
        if now - self.since >= MINUTE_MS or len(self.sets[self.in_use]) >= MAX_ENDED:
            self.in_use = 1 - self.in_use
            self.sets[self.in_use] = set()
            self.since = now
        self.heed_the_clock(now)

    def heed_the_clock(self, now: int) -> None:
        """Restart the minute if the clock went back."""
        self.since = min(self.since, now)

    def over(self, now: int) -> list[set[bytes]]:
        """Return the sets all of whose ids ended more than a minute ago."""
        age = now - self.since
        return [
            members
            for n, members in enumerate(self.sets)
            if age >= (2 * MINUTE_MS if n == self.in_use else MINUTE_MS)
        ]

    def remembers(self, member: bytes, now: int) -> bool:
        """Return whether it ended and is not forgotten yet."""
        over = [id(members) for members in self.over(now)]
        return any(member in members for members in self.sets if id(members) not in over)
