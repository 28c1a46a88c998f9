"""The delay before a retry. Pure: randomness is passed in as an argument."""

from __future__ import annotations

from dataclasses import dataclass

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown

_MAX_S = 366 * 86400  # the longest delay of a job


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential backoff with full jitter: uniform(0, min(cap, base x factor^(attempt - 1))).

    For the same work, full jitter spreads a herd of failures best; the floor prevents an immediate
    retry. Formula: Brooker, "Exponential Backoff and Jitter" (AWS, 2015).
    """

    base_s: float = 2.0
    factor: float = 2.0
    cap_s: float = 600.0
    floor_s: float = 0.1

    def __post_init__(self) -> None:
        values: tuple[object, ...] = (self.base_s, self.factor, self.cap_s, self.floor_s)
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        bounded = numbers and 0 <= self.floor_s <= self.cap_s <= _MAX_S
        if not (bounded and 0 < self.base_s <= _MAX_S and 1 <= self.factor <= 100):
            raise InvalidInputError(
                f"{shown(self)}: needs 0 <= floor_s <= cap_s <= 366 days, base_s above 0 s up to "
                "366 days and factor 1 to 100"
            )

    def delay_s(self, attempt: int, jitter: float) -> float:
        """Return the delay in seconds after failed attempt number `attempt` (from 1).

        jitter is uniform in [0, 1).
        """
        # Beyond 2^64 the cap has long been reached; the bound keeps the power finite.
        ceiling = min(self.cap_s, self.base_s * self.factor ** min(attempt - 1, 64))
        return max(self.floor_s, ceiling * jitter)
