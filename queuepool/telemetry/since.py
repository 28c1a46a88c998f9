"""Since when what was noticed, look after look, has gone on. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
_GAP_MS = 60_000  # what was not seen for less than this went on: readings may fail


class Since(Generic[K]):
    """Remembers when each thing began. Bounded by what goes on now."""

    def __init__(self) -> None:
        self._since: dict[K, int] = {}
        self._last: dict[K, int] = {}

    def note(
        self, found: Collection[K], now_ms: int, *, ended: Callable[[K], bool] = lambda _: False
    ) -> None:
        """Note what a look has found. ended: whether what it has not found is over at once."""
        for key in found:
            self._since.setdefault(key, now_ms)
            self._last[key] = now_ms
        for key, last in list(self._last.items()):
            if abs(now_ms - last) > _GAP_MS or (last != now_ms and ended(key)):
                del self._last[key], self._since[key]

    def __getitem__(self, key: K) -> int:
        """Return since when something that was just found has gone on."""
        return self._since[key]
