"""One batch in memory, as the keys b, bb, bf and br hold it."""

from __future__ import annotations

from dataclasses import dataclass, field

PAGE = 128  # results in one key
FROZEN_MS = 9 * 10**15  # the owner is never to look at a batch that is on its way


@dataclass(slots=True)
class Batch:
    """A batch (b:<batch>), how its jobs ended (bb, bf) and their results (br).

    failed: how, the stamps of the last death and of the last return from the dead, the error.
    """

    then: bytes
    how: bytes
    late: bytes
    due: int
    keep: int
    called: bytes
    within: bytes
    created: int
    state: bytes = b"open"
    why: bytes = b""
    ended: int = 0
    first: bytes = b""  # jobs when it was sealed
    total: int = 0
    top: int = 0  # the number behind the last job that ended
    counts: dict[str, int] = field(default_factory=lambda: {"done": 0, "dead": 0, "lost": 0})
    calls: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    inner: list[bytes] = field(default_factory=list)
    part: bytes = b""  # of a flow: f all, s a step, g what a job of a step waits for
    tells: list[bytes] = field(default_factory=list)  # <batch>~<number>
    graph: bytes = b""
    said: bytes = b"r"
    returns: int = 0
    at: int = 0  # on its way to another partition: when its owner was to look at it
    bits: set[int] = field(default_factory=set)
    failed: dict[int, tuple[bytes, bytes, bytes, bytes]] = field(default_factory=dict)
    results: dict[int, bytes] = field(default_factory=dict)

    @property
    def concludes(self) -> bool:
        """Return whether it has a continuation to conclude, and is open."""
        return self.state == b"open" and self.part not in (b"s", b"f")

    @property
    def outcome(self) -> bytes:
        """Return its outcome, as a step tells it: d, x, g, or r while it goes on."""
        if not self.first or sum(self.counts.values()) < self.total:
            return b"r"
        return b"x" if self.counts["dead"] else b"g" if self.counts["lost"] else b"d"

    def bits_from(self, first: int, last: int | None = None) -> bytes:
        """Return bytes of a bit for each job that has ended, as GETRANGE does."""
        size = max(self.bits, default=-1) // 8 + 1
        found = bytearray(max(0, (size if last is None else min(size, last + 1)) - first))
        for byte in range(len(found)):
            numbers = range(8 * (first + byte), 8 * (first + byte + 1))
            found[byte] = sum(128 >> n % 8 for n in numbers if n in self.bits)
        return bytes(found)

    @property
    def jobs(self) -> int:
        """Return how many jobs it has: while it is not sealed, up to the last one that ended."""
        return max(self.total, self.top)

    @property
    def complete(self) -> bool:
        """Return whether nothing is left to wait for."""
        ended = sum(self.counts.values())
        waits = self.how == b"w" and self.counts["dead"] > 0
        return bool(self.first) and ended >= self.total and not waits
