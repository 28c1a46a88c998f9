"""Limits as operators see and change them, each change with a line in the log. Blocking."""

from __future__ import annotations

from coordinator.api.wording import tell_limit
from queuepool.client.limits import MAX_PAGE
from queuepool.client.pool import QueuePool
from queuepool.models import Limit, LimitStatus


class LimitActs:
    """Acts of operators. Safe to share between threads."""

    def __init__(self, pool: QueuePool) -> None:
        self._pool = pool

    def page(self, name: str, token: str, size: int) -> tuple[list[LimitStatus], str]:
        """Return the limit of a name, or a page of all and the token of the next one."""
        if name:
            found = self._pool.limits.get(name)
            return ([] if found is None else [found]), ""
        return self._pool.limits.page(token, min(size, MAX_PAGE))

    def set(self, limit: Limit, *, reason: str, actor: str) -> bool:
        """Define a limit; returns whether that changed it."""
        changed = self._pool.limits.set(limit)
        return tell_limit("set", limit.name, changed, reason, actor, limit.definition)

    def pause(self, name: str, *, on: bool, reason: str, actor: str) -> bool:
        """Pause or resume a limit; returns whether that changed it.

        Raises UnknownLimitError for one that is to be resumed.
        """
        changed = self._pool.limits.pause(name) if on else self._pool.limits.resume(name)
        return tell_limit("paused" if on else "resumed", name, changed, reason, actor)

    def remove(self, name: str, *, reason: str, actor: str) -> bool:
        """Forget what people set of a limit; returns whether they had. Raises UnknownLimitError."""
        return tell_limit("removed", name, self._pool.limits.remove(name), reason, actor)
