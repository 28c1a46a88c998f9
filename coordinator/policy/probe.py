"""Whether fewer workers than a ceiling finish as many: tried while the ceiling stands. Pure.

A ceiling says that more did not help. Where the bottleneck is may be further down: a quarter of the
workers is taken away, and what the rest finishes is compared, without the slowest cycle, which may
have been a stall of the machine. Where fewer do finish less, the count before is restored. That may
have been a moment in which any number would have finished less, so the same is tried once more,
compared with what is finished from then on; a second time ends the probe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from coordinator.policy.gain_check import Window

_KEPT = 0.75  # share of the workers in a probe
_ENOUGH = 0.96  # share of the completions with which fewer workers finish as many
_COUNTED = 300.0  # completions for a comparison: their scatter is about a twentieth...
_LONGEST_CYCLES = 15  # ...or so many cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """per_s: what the workers before finished; 0 until that is known.

    missed: the last attempt finished less, so that the next one to do so ends the probe.
    """

    workers_before: int = 0
    per_s: float = 0.0
    missed: bool = False
    over: bool = False

    @property
    def running(self) -> bool:
        """Return whether fewer workers are being tried."""
        return (self.per_s > 0 or self.missed) and not self.over

    def observe(self, window: Window, ceiling: int) -> tuple[Probe, int]:
        """Return the state after one more saturated reading, and the ceiling from now on."""
        counted = window.finished >= _COUNTED or window.cycles >= _LONGEST_CYCLES
        if self.over or ceiling < 2 or window.workers != ceiling or not counted:
            return self, ceiling
        if self.per_s and window.steady_per_s < _ENOUGH * self.per_s:
            return Probe(missed=True, over=self.missed), self.workers_before
        tries_again = self.missed and not self.per_s
        per_s = max(self.per_s, window.steady_per_s)
        tried = Probe(workers_before=ceiling, per_s=per_s, missed=tries_again)
        return tried, math.ceil(_KEPT * ceiling)
