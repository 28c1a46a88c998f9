"""What holds at one moment: operators' values, the profile and the schedule together. Pure.

limits   of the coordinator's settings, then the values, then the profile
profile  quiet: at most a quarter of the most; spike: twice the least; extreme: half of the
         most as the least; unless its own values say otherwise
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from coordinator.core.overlays.values import Bounds, Overrides, ScaleMode
from coordinator.policy import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The overlays of one moment. floor, times: of the windows that are open, with their texts.

    waits_s: tier -> target wait. guard_cpu, guard_memory: percent of a machine from which on its
    partitions get no more workers. budget: workers over all partitions.
    """

    limits: Limits = field(default_factory=Limits)
    mode: ScaleMode = ScaleMode.AUTO
    profile: str = "normal"
    floor: tuple[int, str] | None = None
    times: tuple[float, str] | None = None
    waits_s: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    guard_cpu: float | None = None
    guard_memory: float | None = None
    budget: int | None = None

    @property
    def may_move(self) -> bool:
        """Return whether anything but the limits, which policies keep themselves, may move counts.

        The budget apart, which is over all partitions.
        """
        return bool(
            self.floor
            or self.times
            or self.waits_s
            or self.mode is not ScaleMode.AUTO
            or self.guard_cpu is not None
            or self.guard_memory is not None
        )


def rules_at(now_ms: int, limits: Limits, set_: Overrides) -> Rules:
    """Return what holds now. limits: of the coordinator's settings; now_ms: a server's clock."""
    opened = [window for window in set_.schedule if window.is_open(now_ms)]
    profile = next((one.profile for one in reversed(opened) if one.profile), set_.profile)
    floor = max(((one.floor, one.text) for one in opened if one.floor), default=None)
    times = max(((one.times, one.text) for one in opened if one.times > 1), default=None)
    own = set_.profiles.get(profile, Bounds())
    base = _within(limits, set_.base)
    budget = set_.base.budget if own.budget is None else own.budget
    return Rules(
        limits=_within(_shaped(base, profile), own),
        mode=set_.mode,
        profile=profile,
        floor=floor,
        times=times,
        waits_s={**set_.base.waits_s, **own.waits_s},
        guard_cpu=set_.guard_cpu,
        guard_memory=set_.guard_memory,
        budget=budget,
    )


def _shaped(limits: Limits, profile: str) -> Limits:
    """Return limits as a profile without own values has them."""
    least, most = limits.min_workers, limits.max_workers
    if profile == "quiet":
        most = max(most // 4, least)
    elif profile == "spike":
        least = min(2 * least, most)
    elif profile == "extreme":
        least = max(most // 2, least)
    return Limits(min_workers=least, max_workers=most)


def _within(limits: Limits, given: Bounds) -> Limits:
    """Return limits with the given ones in their place; where the two cross, the given one wins."""
    least, most = given.min_workers, given.max_workers
    if most is None:
        most = max(limits.max_workers, least or 1)
    if least is None:
        least = min(limits.min_workers, most)
    return Limits(min_workers=least, max_workers=most)
