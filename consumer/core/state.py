"""State shared by the steps of one owner. Pure: one thread changes it, between round trips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core.costs import Costs
from consumer.core.in_flight import InFlight
from consumer.core.lease import Lease
from consumer.core.limits.gatekeeper import Gatekeeper
from consumer.core.pace import Pace
from consumer.core.prefetch import Prefetch
from consumer.core.worked import Worked
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable

    from consumer.core.turn import Turn
    from consumer.settings import ConsumerSettings

RECONCILE_EVERY_S, RECONCILE_SOON_S = 15.0, 1.0


class State:
    """Jobs, lease, averages, and due times, which any step may bring forward.

    promote_s, reconcile_s, gates_s, poll_s: the next promotion, reading of the in-flight set and of
    the gates, and claim without a reason. untold_s, batches_s: the next look at what is to be told
    to batches, and at batches. overdue: batches may be, at first, so no delayed job is made due: it
    may be the continuation of one. work_expected: a claim would find something, as far as is
    known. released: tasks were released, so their jobs are to be made due; rousing: that goes on.
    alive: workers, as the loop sees them. spare: slots beyond the target, see `slots`.
    looks: gates are to be read while nothing is claimed (see Gatekeeper.unsure).
    late: a job came too late to start (see Workers), and some are on their way back from there.
    progress: latest text of a running job, by id. load: asks how much of the machine is in use.
    armed: the turn whose claim waits at the server for a token.
    """

    def __init__(
        self,
        acquired: own.Acquired,
        settings: ConsumerSettings,
        *,
        workers: int,
        now_s: float,
        definition_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self.ownership, self.settings = acquired.ownership, settings
        self.lease = Lease(acquired, settings, workers=workers, now_s=now_s)
        self.in_flight = InFlight(max(1, settings.max_crashes - 1))
        self.prefetch = Prefetch(settings.prefetch)
        self.costs = Costs()
        self.pace = Pace(settings.lease_s, own.MAX_BATCH)
        self.alive = self.spare = 0
        self.progress: dict[bytes, bytes] = {}
        self.load: Callable[[], str] = lambda: ""
        self.draining = False
        self.armed: Turn | None = None
        self.work_expected = True
        self.released = self.rousing = self.late = self.looks = False
        self.gatekeeper = Gatekeeper(self.ownership, definition_of)
        self.worked = Worked()
        self.promote_s = self.poll_s = self.gates_s = now_s
        self.untold_s = self.batches_s = now_s
        self.overdue = True
        self.reconcile_s = now_s + RECONCILE_EVERY_S

    @property
    def slots(self) -> int:
        """Return how many jobs may run now.

        Fewer than the target while child processes start or heavy jobs take several slots.
        """
        return self.lease.target + self.spare

    @property
    def claims_known(self) -> bool:
        """Return whether no claim waits for its reply, and no worker is about to refuse a job."""
        return self.armed is None and not self.late

    @property
    def busy(self) -> int:
        """Return how many workers are busy, as far as is known."""
        return min(max(0, self.in_flight.open - self.spare), self.alive)

    def promote_by(self, due_s: float) -> None:
        """Note that a delayed job is due at this time."""
        self.promote_s = min(self.promote_s, due_s)

    def reconcile_soon(self, now_s: float) -> None:
        """Request that the in-flight set is read within a second."""
        self.reconcile_s = min(self.reconcile_s, now_s + RECONCILE_SOON_S)
