"""What a rule is, and words that several of them use. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from queuepool.errors.escaping import key_text, typed
from queuepool.models.doctor import UNREAD, Finding
from queuepool.models.tenants import key_in, tenant_of
from queuepool.telemetry.doctor.observed import Observed

Find = Callable[[Observed], Iterator[Finding]]
DAY_S, HOUR_S, MINUTE_S = 86_400, 3600, 60
NO_HISTORY = "needs a coordinator, which keeps a history"
_READ = frozenset(("limits", "schedules", "leader_lease_ms", "route_version"))


@dataclass(frozen=True, slots=True)
class Rule:
    """Finds one kind of thing. patience_s: for how long it must go on before it is reported.

    That is for conditions whose beginning no reading tells; others compare times themselves.
    needs: fields of Observed without which it judges nothing. certain: what a look does not find
    has ended, since a reading that fails is what it finds, or then it judges nothing. partly: tells
    why it could not judge everything that it looks at; empty if it could.
    """

    kind: str
    find: Find
    patience_s: float = 0.0
    needs: tuple[str, ...] = ()
    certain: bool = False
    partly: Callable[[Observed], str] = lambda _: ""

    def unjudged(self, seen: Observed) -> str:
        """Return why nothing can be judged; empty if it can."""
        for name in self.needs:
            value = getattr(seen, name)
            if value is None or value is False:
                return UNREAD if name in _READ else NO_HISTORY
        return ""


def lasting(seconds: float) -> str:
    """Return a duration for people, in its largest unit: 45 s, 12 min, 3.5 h, 2 d."""
    for unit, size in (("d", DAY_S), ("h", HOUR_S), ("min", MINUTE_S)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"


def size(count: float) -> str:
    """Return a number of bytes for people."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 2**power:
            return f"{count / 2**power:,.3g} {unit}"
    return f"{count:.0f} B"


def named(group: bytes) -> str:
    """Return a task group as commands take it: its key, and its tenant if it has one."""
    name, tenant = typed(key_text(key_in(group))), tenant_of(group)
    return name if tenant is None else f"{name} --tenant {typed(key_text(tenant))}"
