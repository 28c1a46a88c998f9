"""For how long a leader has known each former place of slots. Pure: the time is passed in.

    landed --> named in the record --KEPT_S after this leader first saw it--> left out

A leader that takes over counts from when it sees a place: it is named for longer, never for less.
"""

from __future__ import annotations

from collections.abc import Set

from queuepool.routing.former import KEPT_S, entries, entry_of, joined


class Recent:
    """Former places by their entries in the record. Forgotten when leadership changes."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}

    def forget(self) -> None:
        """Count from now on."""
        self._since_s.clear()

    def still(self, former: str, now_s: float) -> str:
        """Return what is left of the former places of a record."""
        self._since_s = {e: self._since_s.get(e, now_s) for e in entries(former)}
        return joined(e for e, seen_s in self._since_s.items() if now_s - seen_s < KEPT_S)

    def with_left(
        self, former: str, now_s: float, *, partition: int, server: str, slots: Set[int]
    ) -> str:
        """Return the same after these slots have left a place just now."""
        kept, gone = self.still(former, now_s), entry_of(partition, server, slots)
        self._since_s[gone] = now_s
        return joined((*entries(kept), gone))
