"""The gates and limits that an owner knows, and what each means to the other. Pure."""

from __future__ import annotations

from consumer.core.limits.gate import GateView
from consumer.core.limits.hot import Hot
from consumer.core.limits.share import Share
from queuepool.models.limits import limits_of

MOST = 10_000  # gates known at once; while there are more, others take the places of idle ones
_MOST_EVICTED = 400  # looks for an idle one


class Gates:
    """known: gates by name; limits: by name. full: not all gates are known.

    reading: counts the readings of all gates. closed: no gate admits anything more.
    """

    def __init__(self) -> None:
        self.known: dict[str, GateView] = {}
        self.limits: dict[str, Share] = {}
        self.hot = Hot()
        self.reading = 0
        self.full = self.closed = False

    def read_again(self) -> None:
        """Begin a reading of all gates."""
        self.reading, self.full = self.reading + 1, False

    def make_room(self, name: str) -> GateView | None:
        """Open a gate, if need be in place of one that has been known for long and is idle."""
        for _ in range(_MOST_EVICTED if len(self.known) >= MOST else 0):
            oldest = next(iter(self.known.values()))
            if not oldest.used:
                oldest.parked, self.full = 0, True
                self.changed(oldest)
                break
            self.known[oldest.name] = self.known.pop(oldest.name)
        if len(self.known) >= MOST:
            self.full = True
            return None
        return self.open(name)

    def open(self, name: str) -> GateView:
        """Open a gate about which nothing is known yet."""
        shares = tuple(self._limit(limit) for limit in limits_of(name))
        view = self.known[name] = GateView(name, shares, seen=self.reading)
        for share in shares:
            share.gates[name] = view
        return view

    def _limit(self, name: str) -> Share:
        share = self.limits.get(name)
        if share is None:
            share = self.limits[name] = Share(name)
        return share

    def changed(self, view: GateView) -> None:
        """Count what a gate has in use and could admit, line it up, forget it if it is empty."""
        used, room = view.used, 0 if self.closed else view.could_admit()
        asks_of = view.asks_of()
        for share in view.wanting:
            share.wanted -= view.room
        for share in asks_of:
            share.wanted += room
        for share in view.limits:
            share.used += used - view.counted
        view.counted, view.room, view.wanting = used, room, asks_of
        for share in view.limits:
            self.touch(share)
        if room == 0 or view.planned:
            view.leave_line()
        elif view.waits_for is None:
            view.line_up(max(view.limits, key=lambda share: len(share.line)))
        if view.empty and view.name in self.known:
            del self.known[view.name]
            for share in view.limits:
                del share.gates[view.name]

    def touch(self, share: Share) -> None:
        """Note that a limit changed."""
        self.hot.touch(share)
        blocked = share.is_blocked()
        if blocked != share.blocked:
            share.blocked = blocked
            for view in list(share.gates.values()):
                self.changed(view)

    def forget(self, share: Share) -> None:
        """Drop a limit that no gate needs."""
        self.hot.forget(share)
        del self.limits[share.name]
