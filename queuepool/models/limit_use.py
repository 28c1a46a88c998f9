"""What a limit lets through in one partition, as its consumer reports it. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

REST = "*"  # the name of all those together that a consumer does not list: of no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """What a declared limit lets through.

    parked: jobs that wait for it; they do not count as backlog. granted_per_s: the starts per
    second that it grants this partition; 0 for a limit that only bounds how many jobs run, as those
    that may run are admitted at once. finished_total and service_s_total: of its jobs that ended
    here, with the worker-seconds they took.
    """

    name: str
    parked: int
    granted_per_s: float
    finished_total: int
    service_s_total: float

    def __post_init__(self) -> None:
        for field in ("parked", "granted_per_s", "finished_total", "service_s_total"):
            value = getattr(self, field)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(
                    f"{field}={value} of limit {self.name!r} must be a number and not negative"
                )
