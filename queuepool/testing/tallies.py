"""How jobs of tenants ended: totals that are forgotten when none ended for a day. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from queuepool.models.tenants import tenant_of

_KEPT_MS = 86_400_000


@dataclass(slots=True)
class Tallies:
    """The totals of tenants, and when each is forgotten."""

    counts: dict[bytes, Counter[str]] = field(default_factory=dict)  # tt:<tenant>
    expires: dict[bytes, int] = field(default_factory=dict)

    def note(self, group: bytes, state: str, now: int, n: int = 1) -> None:
        """Count jobs of a group that ended, if it is one of a tenant."""
        name = tenant_of(group)
        if name is not None:
            self.counts[name] = self.of(name, now) + Counter({state: n})
            self.expires[name] = now + _KEPT_MS

    def of(self, tenant: bytes, now: int) -> Counter[str]:
        """Return the totals of a tenant."""
        known = now <= self.expires.get(tenant, -1)
        return self.counts[tenant] if known else Counter()
