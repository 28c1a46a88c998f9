"""A set ordered by score, like in Redis: ties in the order of their bytes. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

_AFTER_ANY = b"\xff" * 65  # ids have at most 64 bytes


class ScoredSet:
    """Members with a score each. Not safe to share between threads."""

    def __init__(self) -> None:
        self._scores: dict[bytes, float] = {}
        self._order: list[tuple[float, bytes]] = []

    def add(self, member: bytes, score: float) -> None:
        """Add a member, or give one a new score."""
        self.remove(member)
        self._scores[member] = score
        insort(self._order, (score, member))

    def remove(self, member: bytes) -> bool:
        """Remove a member; return whether it was there."""
        score = self._scores.pop(member, None)
        if score is None:
            return False
        del self._order[bisect_left(self._order, (score, member))]
        return True

    def score(self, member: bytes) -> float | None:
        """Return a member's score, or None."""
        return self._scores.get(member)

    def first(self) -> tuple[float, bytes] | None:
        """Return the lowest (score, member), or None."""
        return self._order[0] if self._order else None

    def entries(self, start: int = 0, stop: int | None = None) -> Sequence[tuple[float, bytes]]:
        """Return (score, member) pairs by place, the lowest first."""
        return self._order[start:stop]

    def up_to(self, score: float) -> Sequence[tuple[float, bytes]]:
        """Return the pairs whose score is at most `score`."""
        return self._order[: bisect_right(self._order, (score, _AFTER_ANY))]

    def below(self, score: float) -> Sequence[tuple[float, bytes]]:
        """Return the pairs whose score is less than `score`."""
        return self._order[: bisect_left(self._order, (score, b""))]

    def __contains__(self, member: object) -> bool:
        return member in self._scores

    def __len__(self) -> int:
        return len(self._order)
