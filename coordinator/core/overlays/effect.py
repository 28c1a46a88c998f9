"""What the overlays make of the count that a policy wants: one after another, each by name. Pure.

times, floor, wait     raise what is wanted
mode                   keeps the count from rising, falling or both
min, max, guard        bound it whatever was said before
consumer               its own maximum or minimum, which it showed when it obeyed
budget                 lowers it, last (see `budget`)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from coordinator.core.model import Clamp
from coordinator.core.overlays.rules import Rules
from coordinator.core.overlays.situation import Situation
from coordinator.core.overlays.values import TIERS, ScaleMode
from queuepool.models import Owner

_OWN_MOST = "its consumer takes no more: CONSUMER_MAX_WORKERS or CONSUMER_POOLS"
_OWN_LEAST = "its consumer takes no fewer: CONSUMER_POOLS"
_FACTOR, _STEP = 2, 8  # of a step for a target wait, whose gain the policy can check


def overlaid(wanted: int, now: Situation, rules: Rules) -> tuple[int, tuple[Clamp, ...]]:
    """Return the count after every overlay but the budget, and those that moved it."""
    clamps = []
    count = wanted
    for name, after, why in _steps(wanted, now, rules):
        if after != count:
            clamps.append(Clamp(name=name, before=count, after=after, why=why))
        count = after
    return count, tuple(clamps)


def _steps(wanted: int, now: Situation, rules: Rules) -> Iterator[tuple[str, int, str]]:
    count = wanted
    for name, after, why in _raises(count, now, rules):
        count = max(count, after)
        yield name, count, why
    after, why = _by_mode(count, now.before, rules.mode)
    yield "mode", after, why
    if rules.mode is ScaleMode.MANUAL:
        return
    count, limits = after, rules.limits
    after, bound = limits.clamp(count)
    by_profile = f" of profile {rules.profile}" if rules.profile != "normal" else ""
    if bound:
        name = "least" if bound[0] == "min_workers" else "most"
        yield bound[0], after, f"the {name}{by_profile} is {after}"
    count = after
    guarded = min(count, max(now.before, limits.min_workers))
    for name, why in _guards(now.owner, rules):
        yield name, guarded, why
        count = guarded
    if now.own is not None:
        name, why = ("max", _OWN_MOST) if now.own.is_most else ("min", _OWN_LEAST)
        yield f"consumer_{name}", now.own.bounded(count), why


def _raises(count: int, now: Situation, rules: Rules) -> Iterator[tuple[str, int, str]]:
    if rules.times is not None:
        factor, text = rules.times
        count = math.ceil(count * factor)
        yield "times", count, text
    if rules.floor is not None:
        yield "floor", rules.floor[0], rules.floor[1]
    if rules.waits_s and now.demand is not None and now.demand.measured and now.free:
        service_s, load = now.demand.service_s, now.demand.per_s * now.demand.service_s
        for tier, wait_s in sorted(rules.waits_s.items()):
            jobs = sum(now.ready[: tier + 1])
            if jobs:
                needed = math.ceil(load + jobs * service_s / wait_s)
                needed = min(needed, max(_FACTOR * now.before, now.before + _STEP))
                needed = min(needed, now.ceiling or needed)
                yield (
                    "wait",
                    needed,
                    f"{jobs} jobs of {service_s:.3g} s in tier {TIERS[tier]} or above within "
                    f"{wait_s:g} s, beside {load:.1f} busy workers",
                )


def _by_mode(count: int, before: int, mode: ScaleMode) -> tuple[int, str]:
    if mode is ScaleMode.HOLD_UP:
        return min(count, before), "mode hold-up: it does not rise"
    if mode is ScaleMode.HOLD_DOWN:
        return max(count, before), "mode hold-down: it does not fall"
    if mode is ScaleMode.AUTO:
        return count, ""
    return before, f"mode {mode}"


def _guards(owner: Owner | None, rules: Rules) -> Iterator[tuple[str, str]]:
    for name, bound in (("cpu", rules.guard_cpu), ("memory", rules.guard_memory)):
        used = getattr(owner, name, None)
        if bound is not None and used is not None and used >= bound:
            yield (
                f"guard_{name}",
                f"{used:g} % of the {name} of its machine in use, {bound:g} % or more: no growth",
            )
