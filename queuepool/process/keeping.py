"""Watches the route record while a process lives: it may get lost, or become readable only later.

If a server lost it (FLUSHALL, a failover that rolled back), processes that had read it write it
again, so that the next process with another count is still refused. A record of a newer version is
followed. If one of the first version contradicts a process that has verified its own count, the
process continues, since its jobs run where they were claimed; the contradiction is logged when it
begins and when it ends. Only a process without partitions ends when its place is sealed. A process
is not verified while a server that the record's maker did not hear stays silent.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, QueuePoolError, SealedError
from queuepool.errors.hindrances import start_thread
from queuepool.partitions.route import Answer, Leave

INTERVAL_S = 10.0
_SOON_S = 1.0
_log = logging.getLogger("queuepool.route")


class RouteKeeper:
    """Checks the record on its own thread, from start() to stop().

    refuse: called at most once, if the first answer contradicts this process. waits: whether this
    process waits for a partition, so that a new one is to be noticed within a second.
    """

    def __init__(
        self,
        pool: QueuePool,
        refuse: Callable[[ConfigurationError], None],
        *,
        interval_s: float = INTERVAL_S,
        waits: Callable[[], bool] = lambda: False,
    ) -> None:
        self._pool, self._refuse = pool, refuse
        self._interval_s, self._waits = interval_s, waits
        self._stopping = threading.Event()
        self._trouble = ""
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="queuepool-route", daemon=True)

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "to watch the route record")

    def stop(self) -> None:
        """Stop soon, without waiting. Idempotent, legal before start."""
        self._stopping.set()

    def look(self) -> bool:
        """Check once; return whether to continue."""
        verified = self._pool.route.state.verified
        try:
            answer = self._pool.route.ask(Leave.RESTORE if verified else Leave.RECORD)
        except ConfigurationError as error:
            if not verified or isinstance(error, SealedError):
                self._refuse(error)
                return False
            self._note(f"the route record contradicts this process, which continues: {error}")
        except QueuePoolError as error:
            if not verified:
                system = self._pool.config.topology.system
                self._note(
                    f"the route record on server {system!r} cannot be read, or made if there is "
                    "none, so the number of partitions is not checked; this process continues: "
                    f"{error}"
                )
        else:
            self._note(_unheard(answer))
        return True

    def pause_s(self) -> float:
        """Return the seconds until the next look, about."""
        state = self._pool.route.state
        if self._waits() or not (state.verified or state.doubtful):
            return min(self._interval_s, _SOON_S)
        return self._interval_s

    def _note(self, trouble: str) -> None:
        if self._stopping.is_set():  # the process ends, and has closed the connection meanwhile
            return
        if trouble and trouble != self._trouble:
            _log.warning("%s", trouble)
        elif self._trouble and not trouble:
            _log.info("the route record can be read and checked again, and matches this process")
        self._trouble = trouble

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._stopping.wait(self.pause_s() * (0.8 + 0.4 * random.random()))
            if not self._stopping.is_set() and not self.look():
                return


def _unheard(answer: Answer) -> str:
    if not answer.silent:
        return ""
    causes = "; ".join(f"{name!r}: {error}" for name, error in answer.silent.items())
    return (
        "the route record was made while some servers did not answer, and these still have to be "
        f"asked for jobs of more partitions and for another record; this process goes on: {causes}"
    )
