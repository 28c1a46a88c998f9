"""What the limits of an owner let through, for its coordinator. Pure.

A job may need several limits, and a limit serves many gates, so grants do not simply add up: each
gate takes what the tightest of its limits has left, and counts for the widest of those that have
nothing left. What one lets through is then never counted twice.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from queuepool.models.limit_use import REST, LimitUse
from queuepool.verbs.owner.limit_uses import MOST, limit_uses_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from consumer.core.limits.gates import Gates
    from consumer.core.limits.share import Share

_GATES_A_S = 1000  # that are looked at for a report
_LEAST = 1e-9


class Uses:
    """Reports on limits. Of many gates, a report may be some seconds old."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._text, self._next_s = "", 0.0

    def text(self, now_s: float) -> str:
        """Return the report, "" if no job is at a limit."""
        known = self._gates.known
        if not known:
            return ""
        if now_s >= self._next_s:
            self._text = limit_uses_text(_listed(self._found()))
            self._next_s = now_s + len(known) // _GATES_A_S
        return self._text

    def _found(self) -> list[LimitUse]:
        left = {share: share.may_start_per_s for share in self._gates.limits.values()}
        granted: dict[Share, float] = {}
        views = list(self._gates.known.values())
        parts = list[float]()
        for view in views:
            part = min(left[share] for share in view.limits) if view.parked else 0.0
            parts.append(part if part < inf else 0.0)
            for share in view.limits:
                left[share] -= parts[-1]
        parked: dict[Share, int] = {}
        for view, part in zip(views, parts, strict=True):
            spent = [share for share in view.limits if left[share] <= _LEAST]
            share = max(spent or view.limits, key=lambda one: len(one.gates))
            parked[share] = parked.get(share, 0) + view.parked
            granted[share] = granted.get(share, 0.0) + part
        return [
            LimitUse(
                name=share.name,
                parked=jobs,
                granted_per_s=granted[share],
                finished_total=share.finished,
                service_s_total=share.worked_s,
            )
            for share, jobs in parked.items()
        ]


def _listed(uses: list[LimitUse]) -> Iterable[LimitUse]:
    if len(uses) <= MOST:
        return uses
    uses.sort(key=lambda one: (-one.parked, one.name))
    rest = [one for one in uses[MOST:] if one.parked > one.granted_per_s]
    together = LimitUse(
        name=REST,
        parked=sum(one.parked for one in rest),
        granted_per_s=sum(one.granted_per_s for one in rest),
        finished_total=sum(one.finished_total for one in rest),
        service_s_total=sum(one.service_s_total for one in rest),
    )
    return [*uses[:MOST], together]
