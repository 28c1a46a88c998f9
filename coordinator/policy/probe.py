"""Whether fewer workers than a ceiling finish as many: tried while the ceiling stands. Pure.

A ceiling says that more did not help. Where the bottleneck is may be further down: a quarter of the
workers is taken away, and what the rest finishes is compared, without the slowest cycle, which may
have been a stall of the machine. Where fewer do finish less, the count before is restored. That may
have been a moment in which any number would have finished less, so the same is tried once more,
compared with what is finished from then on. Less for the second time, and the search goes on half
way between too few and enough, until they are about a tenth apart.

What was found outlasts the ceiling: an attempt with more workers that finishes no more than the
fewest did shows that these are still enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from coordinator.policy.gain_check import Window

_KEPT = 0.75  # share of the workers in a probe, as long as no count is known to be too few
_FINEST = 0.9  # share of the workers that is not worth a probe any more, if it is larger
_ENOUGH = 0.96  # share of the completions with which fewer workers finish as many
_COUNTED = 300.0  # completions for a comparison: their scatter is about a twentieth...
_LONGEST_CYCLES = 15  # ...or so many cycles
_STILL = 0.9, 1.03  # times what enough workers finished, and more workers now: nothing has changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """enough: the fewest workers that finish as many, and what those of the ceiling finished.

    tried: 0 while the workers of the ceiling, or those that are enough, are measured. too_few: the
    most that finished less, at two attempts or after another count had; 0 for none. missed: the
    count to be tried finished less at its first attempt.
    """

    enough: int = 0
    per_s: float = 0.0
    tried: int = 0
    too_few: int = 0
    missed: bool = False
    over: bool = False

    @property
    def running(self) -> bool:
        """Return whether fewer workers are being tried, or soon will be."""
        return self.enough > 0 and not self.over

    def observe(self, window: Window, ceiling: int) -> tuple[Probe, int]:
        """Return the state after one more saturated reading, and the ceiling from now on."""
        counted = window.finished >= _COUNTED or window.cycles >= _LONGEST_CYCLES
        if self.over or ceiling < 2 or window.workers != ceiling or not counted:
            return self, ceiling
        per_s = window.steady_per_s
        if not self.tried:
            return _try_fewer(replace(self, enough=ceiling, per_s=per_s))
        if per_s >= _ENOUGH * self.per_s:
            found = replace(self, enough=ceiling, per_s=max(self.per_s, per_s), missed=False)
            return _try_fewer(found)
        if not self.missed and not self.too_few:
            return replace(self, tried=0, missed=True), self.enough
        return _try_fewer(replace(self, too_few=ceiling, missed=False))

    def after_no_gain(self, per_s: float) -> Probe:
        """Return what is still known once more workers than were enough finished per_s.

        A probe that was ruled out, rather than made, remains so.
        """
        least, most = (share * self.per_s for share in _STILL)
        if self.enough and least <= per_s <= most:
            return replace(self, tried=0)
        return Probe(over=self.over and not self.enough)


def _try_fewer(probe: Probe) -> tuple[Probe, int]:
    """Return the state in which fewer than enough are tried, if any are worth it, and them."""
    fewer, most = math.ceil(_KEPT * probe.enough), probe.enough - 1.0
    if probe.too_few:
        fewer, most = (probe.too_few + probe.enough) // 2, _FINEST * probe.enough
    if fewer > most:
        return replace(probe, tried=0, over=True), probe.enough
    return replace(probe, tried=fewer), fewer
