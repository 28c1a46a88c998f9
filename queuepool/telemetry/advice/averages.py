"""Averages of late, in bounded memory. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
FADE_S = 300.0  # by which what was seen counts for less: minutes, as hot partitions are about


@dataclass(slots=True)
class Average:
    """The mean of a value over time; what is FADE_S old counts for a third."""

    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, over_s: float) -> float:
        """Take the value of the last over_s seconds; return the mean."""
        keep = math.exp(-over_s / FADE_S)
        self.total = self.total * keep + value * (1 - keep)
        self.weight = self.weight * keep + (1 - keep)
        return self.mean

    @property
    def mean(self) -> float:
        """Return the mean; 0 if nothing was seen."""
        return self.total / self.weight if self.weight else 0.0


@dataclass(slots=True)
class Shares(Generic[K]):
    """How often each of many names was met. Keeps the `most` that were met most often of late."""

    most: int
    _counts: dict[K, float] = field(default_factory=dict)
    _total: float = 0.0

    def add(self, names: Iterable[K], over_s: float) -> None:
        """Note the names that one look has met; over_s: since the last one."""
        keep = math.exp(-over_s / FADE_S)
        self._total *= keep
        for name in self._counts:
            self._counts[name] *= keep
        for name in names:
            self._counts[name] = self._counts.get(name, 0.0) + 1
            self._total += 1
        if len(self._counts) > self.most:
            kept = sorted(self._counts, key=lambda name: -self._counts[name])[: self.most]
            self._counts = {name: self._counts[name] for name in kept}

    @property
    def met(self) -> float:
        """Return how many were met of late, about."""
        return self._total

    def shares(self) -> Mapping[K, float]:
        """Return the share of each, the largest first."""
        ordered = sorted(self._counts.items(), key=lambda one: -one[1])
        return {name: count / self._total for name, count in ordered} if self._total else {}
