"""Limits of concurrent calls, in total and per holder: two kinds. Pure.

    Places          full: the new call is refused          authenticated callers
    YieldingPlaces  full: the holder with the most          unknown callers, who could otherwise
                    places loses its oldest                 lock everyone else out

A holder is what distinguishes callers: an address, or role, names and address.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable


class Places:
    """At most `most` at once, at most `most_each` per holder. For one thread."""

    def __init__(self, most: int, most_each: int) -> None:
        self.most, self.most_each = most, most_each
        self._held: dict[Hashable, int] = {}
        self.taken = 0

    def take(self, holder: Hashable) -> bool:
        """Take a place; False if there is none for this holder."""
        held = self._held.get(holder, 0)
        if self.taken >= self.most or held >= self.most_each:
            return False
        self._held[holder] = held + 1
        self.taken += 1
        return True

    def leave(self, holder: Hashable) -> None:
        """Release a place."""
        left = self._held[holder] - 1
        if left:
            self._held[holder] = left
        else:
            del self._held[holder]
        self.taken -= 1


class Place:
    """One place of YieldingPlaces. lost: it was taken away."""

    __slots__ = ("holder", "lost", "on_lost")

    def __init__(self, holder: Hashable, on_lost: Callable[[], None]) -> None:
        self.holder, self.on_lost = holder, on_lost
        self.lost = False


class YieldingPlaces:
    """At most `most` at once, at most `most_each` per holder; the newest always has one.

    So unknown callers who hold every place delay no one: they lose their oldest places. Taking one
    costs time in proportion to the number of holders, at most `most`. For one thread.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._held: dict[Hashable, dict[Place, None]] = {}
        self.taken = 0

    def take(self, holder: Hashable, on_lost: Callable[[], None]) -> Place:
        """Return a new place. on_lost is called, at once and never twice, when it is taken away."""
        if len(self._held.get(holder, ())) >= self._most_each:
            self._take_away(holder)
        elif self.taken >= self._most:
            # The first of several with equally many is the one that has been here longest.
            self._take_away(max(self._held, key=lambda each: len(self._held[each])))
        place = Place(holder, on_lost)
        self._held.setdefault(holder, {})[place] = None
        self.taken += 1
        return place

    def leave(self, place: Place) -> None:
        """Release a place. Harmless if it was taken away."""
        held = self._held.get(place.holder)
        if held is None or place not in held:
            return
        del held[place]
        self.taken -= 1
        if not held:
            del self._held[place.holder]

    def _take_away(self, holder: Hashable) -> None:
        place = next(iter(self._held[holder]))
        self.leave(place)
        place.lost = True
        place.on_lost()
