"""Judges the queue every few seconds, on a thread of its own; see queuepool.telemetry.doctor.

    snapshots of the loop + servers, limits, schedules -> History -> Watch -> the board, events
                                                                  -> AdviceWatch -> the board

States of partitions come from the loop's snapshots. The rest is read here, of at most CLOSE places
in a look, in turn, so a look costs the servers the same however many partitions there are. A server
that hangs delays neither the loop nor a call of the API.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from itertools import islice

from coordinator.core.events import FindingCame, FindingWent
from coordinator.core.model import PartitionView, Snapshot
from coordinator.snapshots.store import SnapshotStore
from coordinator.snapshots.verdict import VerdictBoard
from queuepool.client.checkup import CLOSE, with_the_rest
from queuepool.client.pool import QueuePool
from queuepool.client.reachable import Where, ask_reachable
from queuepool.errors.hindrances import start_thread
from queuepool.models.doctor import Checkup, Verdict
from queuepool.telemetry.advice.advising import AdviceWatch
from queuepool.telemetry.doctor import Observed, Place, Watch, changes
from queuepool.telemetry.doctor.past import History
from queuepool.telemetry.events import Listener, ignore
from queuepool.verbs.operator.checkups import checkup

INTERVAL_S = 5.0
_FIRST_S = 0.1  # between attempts at the first look
_log = logging.getLogger("coordinator.doctor")


class DoctorWatch:
    """Watches a queue from start() to stop(). others: the partitions that have other pools."""

    def __init__(
        self,
        pool: QueuePool,
        store: SnapshotStore,
        board: VerdictBoard,
        *,
        others: Callable[[], Sequence[PartitionView]] = tuple,
        emit: Listener = ignore,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._pool, self._store, self._board, self._others = pool, store, board, others
        self._emit, self._interval_s = emit, interval_s
        self._history, self._watch = History(), Watch()
        self._advice = AdviceWatch()
        self._looked: dict[Where, Checkup] = {}
        self._turn = 0
        self._stopping = threading.Event()
        self._trouble = False
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-doctor", daemon=True)

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "for the doctor")

    def stop(self) -> None:
        """Stop soon, without waiting. Idempotent, legal before start."""
        self._stopping.set()

    def look(self) -> Verdict | None:
        """Judge once; None before the loop's first cycle."""
        snapshot = self._store.snapshot
        if not snapshot.cycle:
            return None
        seen = self._history.add(self._observed(snapshot))
        verdict = self._watch.judge(seen)
        self._board.advised = self._advice.advise(seen)
        before = self._board.latest
        self._board.latest = verdict
        came, went = changes(before.findings if before is not None else (), verdict.findings)
        for one in came:
            self._emit(FindingCame(one))
        for one in went:
            self._emit(FindingWent(one))
        return verdict

    def _observed(self, snapshot: Snapshot) -> Observed:
        views = [*snapshot.partitions, *self._others()]
        wheres = [(view.partition, view.pool) for view in views]
        config = self._pool.config
        self._looked |= self._pool.carry_out(
            ask_reachable(config, self._next(wheres), lambda _: checkup())
        )
        for gone in self._looked.keys() - set(wheres):
            del self._looked[gone]
        places = tuple(
            _place(view, self._looked.get(where)) for view, where in zip(views, wheres, strict=True)
        )
        ago_s = time.monotonic() - (snapshot.at_s or time.monotonic())
        seen_ms = round((time.time() - ago_s) * 1000)
        return self._pool.carry_out(
            with_the_rest(config, places, seen_ms, seen_ms, clamps_known=snapshot.leading)
        )

    def _next(self, wheres: Sequence[Where]) -> Sequence[Where]:
        """Return the places to look at closely in this turn."""
        start = self._turn % max(len(wheres), 1)
        self._turn = start + CLOSE if start + CLOSE < len(wheres) else 0
        return list(islice(wheres, start, start + CLOSE))

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause_s = self._interval_s
            try:
                if self.look() is None:
                    pause_s = min(pause_s, _FIRST_S)
            except Exception as error:  # whatever it is, the next look starts over
                if not self._trouble:
                    _log.exception("the doctor cannot inspect the queue; retrying: %s", error)
                self._trouble = True
            else:
                self._trouble = False
            self._stopping.wait(pause_s)


def _place(view: PartitionView, looked: Checkup | None) -> Place:
    return Place(
        partition=view.partition,
        server=view.server,
        state=None if view.problem else view.state,
        pool=view.pool,
        checkup=looked,
        finished_per_s=view.finished_per_s,
        service_s=view.pace.service_s or 0.0,
        clamps=view.clamps,
    )
