"""Whether fewer workers than a ceiling finish as many: tried while the ceiling stands. Pure.

A ceiling says that more did not help. Where the bottleneck is may be further down: a quarter of the
workers is taken away, and what the rest finishes is compared. Once fewer do finish less, the count
before is restored, and the probe is over until the next ceiling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from coordinator.policy.gain_check import Window

_KEPT = 0.75  # share of the workers in a probe
_ENOUGH = 0.96  # share of the completions with which fewer workers finish as many
_COUNTED = 300.0  # completions for a comparison: their scatter is about a twentieth...
_LONGEST_CYCLES = 15  # ...or so many cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """per_s: what the workers before finished; 0 before the first attempt."""

    workers_before: int = 0
    per_s: float = 0.0
    over: bool = False

    @property
    def running(self) -> bool:
        """Return whether fewer workers are being tried."""
        return self.per_s > 0 and not self.over

    def observe(self, window: Window, ceiling: int) -> tuple[Probe, int]:
        """Return the state after one more saturated reading, and the ceiling from now on."""
        counted = window.finished >= _COUNTED or window.cycles >= _LONGEST_CYCLES
        if self.over or ceiling < 2 or window.workers != ceiling or not counted:
            return self, ceiling
        if self.per_s and window.per_s < _ENOUGH * self.per_s:
            return replace(self, over=True), self.workers_before
        per_s = max(self.per_s, window.per_s)
        return replace(self, workers_before=ceiling, per_s=per_s), math.ceil(_KEPT * ceiling)
