"""Liveness: report when the loop does not live, and end the process when only that helps.

    turned lately                                 healthy
    no turn for stall_s, the server is away       unhealthy, but we stay: a restart fixes nothing
    no turn for stall_s, the server answers us    deaf: after another stall_s the process ends
    the loop did not even pass for 2 x stall_s    hung: the process ends

A turn is one that recorded or claimed something; where nothing was there to record or to claim, one
that renewed the lease. An owner that renews for ever over a full outbox is deaf.

"The server answers us" is asked on a fresh connection, so that a broken one cannot hide it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic

from consumer.core.liveness import Liveness
from queuepool.errors import QueuePoolError
from queuepool.errors.hindrances import start_thread

_log = logging.getLogger("consumer.watchdog")


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


class Watchdog:
    """Watches a loop; `probe` asks the server on a fresh connection, and raises when it is away."""

    def __init__(
        self,
        liveness: Liveness,
        stall_s: float,
        probe: Callable[[], object],
        end: Callable[[str], None],
    ) -> None:
        self._liveness, self._stall_s, self._probe, self._end = liveness, stall_s, probe, end
        self._answering_s: float | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queuepool-watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch. Raises NoThreadError."""
        start_thread(self._thread, "for the watchdog")

    def stop(self) -> None:
        """Stop watching. Idempotent, legal before start."""
        self._stopping.set()

    def problem(self) -> str | None:
        """Return what is wrong for the health endpoint, or None."""
        silent = monotonic() - self._liveness.last_reply_s
        if silent < self._stall_s:
            return None
        why = self._liveness.why
        return f"no successful turn for {silent:.0f} s" + (f": {why}" if why else "")

    def _run(self) -> None:
        looked_s = monotonic()
        while not self._stopping.wait(min(1.0, self._stall_s / 4)):
            since_s, looked_s = monotonic() - looked_s, monotonic()
            if self.problem() is None or since_s > self._stall_s:
                # A process that was stopped as a whole: the loop may not have had its turn yet.
                self._answering_s = None
                continue
            try:
                self._probe()
                self._answering_s = self._answering_s or monotonic()
            except QueuePoolError:
                self._answering_s = None
            why = verdict(
                now_s=monotonic(),
                last_pass_s=self._liveness.last_pass_s,
                last_reply_s=self._liveness.last_reply_s,
                stall_s=self._stall_s,
                answering_s=self._answering_s,
            )
            if why is not None:
                _log.critical("terminating this process: %s", why)
                self._end(why)
                return
