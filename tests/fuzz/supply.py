"""Values out of bytes, so that a fuzzer that changes bytes changes values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_EDGES = (0, 1, -1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30)


class Supply:
    """Hands out bytes from the front; when they are used up, zeros and empty texts."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, count: int) -> bytes:
        """Return so many bytes, fewer at the end."""
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken

    def rest(self) -> bytes:
        return self.take(len(self._data))

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1; limit at most 256."""
        taken = self.take(1)
        return taken[0] % limit if taken else 0

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def raw(self) -> bytes:
        """Return up to 255 bytes, as many as the next byte says."""
        return self.take(self.below(256))

    def number(self) -> int:
        """Return a number as a server's reply may hold it: small, any of 64 bits, or an edge."""
        kind = self.below(4)
        if kind == 0:
            return self.below(256)
        if kind == 1:
            return self.one_of(_EDGES)
        return int.from_bytes(self.take(8), "big", signed=True)

    def digits(self) -> bytes:
        """Return a stored number: decimal as a rule, anything otherwise."""
        return self.raw() if self.below(4) == 0 else b"%d" % self.number()

    def pairs(self, names: Sequence[bytes]) -> list[bytes]:
        """Return a flat list of stored fields, mostly with these names."""
        flat: list[bytes] = []
        for _ in range(self.below(12)):
            flat.append(self.raw() if self.below(8) == 0 else self.one_of(names))
            flat.append(self.digits())
        return flat
