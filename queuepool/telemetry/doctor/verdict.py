"""The verdict: all rules on what was observed, and since when each finding holds. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from queuepool.models.doctor import Finding, Severity, Unjudged, Verdict
from queuepool.telemetry.doctor.observed import Observed
from queuepool.telemetry.doctor.rules import RULES, Rule
from queuepool.telemetry.since import Since

_ORDER: Final = {severity: place for place, severity in enumerate(Severity)}
_MOST_OF_A_KIND: Final = 20  # the first by name; a server that is down has thousands of places
_CAUSES: Final = frozenset(("refuses-writes", "server-away"))  # other findings follow from them
_REST: Final = " findings of this kind"
Key = tuple[str, str]


def judge(seen: Observed) -> Verdict:
    """Return the verdict on a single look, in which nobody knows what went on for how long.

    What would have to go on for some time is reported at once; what shows only in comparison with
    earlier looks is named as not judged.
    """
    found, unjudged = _suspicions(seen)
    return Verdict(at_ms=seen.now_ms, findings=_ordered(found.values()), unjudged=unjudged)


class Watch:
    """Verdicts on one look after another. Bounded by what is wrong now."""

    def __init__(self) -> None:
        self._since = Since[Key]()

    def judge(self, seen: Observed) -> Verdict:
        """Return the verdict; what has to go on for some time is reported after that time."""
        now_ms = seen.now_ms
        found, unjudged = _suspicions(seen)
        open_kinds = {one.kind for one in unjudged}
        self._since.note(
            found,
            now_ms,
            ended=lambda key: _RULES[key[0]].certain and key[0] not in open_kinds,
        )
        lasting = []
        for key, one in found.items():
            since_ms = self._since[key] if one.since_ms is None else one.since_ms
            if now_ms - since_ms >= _RULES[one.kind].patience_s * 1000:
                lasting.append(replace(one, since_ms=since_ms))
        return Verdict(at_ms=now_ms, findings=_ordered(lasting), unjudged=unjudged)


def changes(
    before: Iterable[Finding], now: Iterable[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings that came or became worse, and those that have ended.

    What is cut off is one finding, however many it stands for.
    """
    known, found = _by_subject(before), _by_subject(now)
    came = [
        one
        for key, one in found.items()
        if key not in known or _ORDER[one.severity] < _ORDER[known[key].severity]
    ]
    return tuple(came), tuple(one for key, one in known.items() if key not in found)


def _by_subject(found: Iterable[Finding]) -> dict[Key, Finding]:
    return {(one.kind, "" if _is_rest(one) else one.subject): one for one in found}


def _suspicions(seen: Observed) -> tuple[dict[Key, Finding], tuple[Unjudged, ...]]:
    found: dict[Key, Finding] = {}
    unjudged = []
    for rule in RULES:
        why = rule.unjudged(seen)
        if why:
            unjudged.append(Unjudged(rule.kind, why))
            continue
        for one in rule.find(seen):
            found.setdefault((one.kind, one.subject), one)
        if why := rule.partly(seen):
            unjudged.append(Unjudged(rule.kind, f"in part, since {why}"))
    return found, tuple(unjudged)


def _ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    by_kind: dict[str, list[Finding]] = {}
    for one in sorted(found, key=_place):
        by_kind.setdefault(one.kind, []).append(one)
    return tuple(one for some in by_kind.values() for one in _cut(some))


def _place(one: Finding) -> tuple[int, bool, str, str]:
    return _ORDER[one.severity], one.kind not in _CAUSES, one.kind, one.subject


def _cut(some: list[Finding]) -> list[Finding]:
    shown, left = some[:_MOST_OF_A_KIND], len(some) - _MOST_OF_A_KIND
    if left <= 0:
        return some
    begun = [one.since_ms for one in some[_MOST_OF_A_KIND:] if one.since_ms is not None]
    rest = replace(
        some[_MOST_OF_A_KIND],
        subject=f"{left} more",
        what=f"{left} more{_REST}",
        since_ms=min(begun, default=None),
    )
    return [*shown, rest]


def _is_rest(one: Finding) -> bool:
    return one.what == f"{one.subject}{_REST}"


_RULES: Final[Mapping[str, Rule]] = {rule.kind: rule for rule in RULES}
