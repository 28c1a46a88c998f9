"""How often somebody may do something."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_CALLERS = 1000


class Rates:
    """A bucket for each caller: `burst` at once, `per_s` in the long run. Of one event loop."""

    def __init__(
        self, burst: float, per_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._per_s, self._now_s = burst, per_s, now_s
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> bool:
        """Return whether the caller may do it once more now."""
        now_s = self._now_s()
        left, since_s = self._left.pop(caller, (self._burst, now_s))
        left = min(self._burst, left + (now_s - since_s) * self._per_s)
        allowed = left >= 1
        self._left[caller] = (left - allowed, now_s)
        if len(self._left) > _MOST_CALLERS:
            self._left.popitem(last=False)
        return allowed
