"""Liveness: report when the loop makes no progress, and end the process if only that helps.

    a recent turn                                 healthy
    no turn for stall_s, the server is down       unhealthy, but continues: a restart would not help
    no turn for stall_s, the server answers us    deaf: after another stall_s the process exits
    the loop made no pass for 2 x stall_s         hung: the process exits

A turn counts if it recorded or claimed something, or, if there was nothing to record or claim,
renewed the lease. An owner that renews forever with a full outbox is deaf; one that fails to send
large results gives up each of them after some tries, and these count.

"The server answers us" is asked on a fresh connection, so that a broken one cannot hide it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from consumer.core.liveness import Liveness
from queuepool.errors import QueuePoolError
from queuepool.process.watching import Watch


def verdict(
    *,
    now_s: float,
    last_pass_s: float,
    last_reply_s: float,
    stall_s: float,
    answering_s: float | None,
) -> str | None:
    """Return why the process should end, or None. answering_s: since when the server answers."""
    if now_s - last_pass_s > 2 * stall_s:
        return f"the loop has not completed a pass for {now_s - last_pass_s:.0f} s"
    if now_s - last_reply_s > stall_s and answering_s is not None and now_s - answering_s > stall_s:
        return f"no turn succeeded for {now_s - last_reply_s:.0f} s although the server responds"
    return None


class Watchdog(Watch):
    """Watches a loop; `probe` checks the server on a fresh connection, and raises if it is down."""

    def __init__(
        self,
        liveness: Liveness,
        stall_s: float,
        probe: Callable[[], object],
        end: Callable[[str], None],
    ) -> None:
        super().__init__(
            self._look_again, end, interval_s=min(1.0, stall_s / 4), name="queuepool-watchdog"
        )
        self._liveness, self._stall_s, self._probe = liveness, stall_s, probe
        self._answering_s: float | None = None
        self._looked_s = monotonic()

    def problem(self) -> str | None:
        """Return what is wrong for the health endpoint, or None."""
        silent = monotonic() - self._liveness.last_reply_s
        if silent < self._stall_s:
            return None
        why = self._liveness.why
        return f"no successful turn for {silent:.0f} s" + (f": {why}" if why else "")

    def _look_again(self) -> str | None:
        since_s, self._looked_s = monotonic() - self._looked_s, monotonic()
        if self.problem() is None or since_s > self._stall_s:
            # After the whole process was stopped, the loop may not have run yet.
            self._answering_s = None
            return None
        try:
            self._probe()
            self._answering_s = self._answering_s or monotonic()
        except QueuePoolError:
            self._answering_s = None
        return verdict(
            now_s=monotonic(),
            last_pass_s=self._liveness.last_pass_s,
            last_reply_s=self._liveness.last_reply_s,
            stall_s=self._stall_s,
            answering_s=self._answering_s,
        )
