"""The jobs of this owner, and where each of them is. No clock, no network, no thread.

A claimed job is in exactly one of these places (`claimed` holds all of them):

    take ----> running or queued in the pool --> outbox --> recorded: forgotten here
      `------> suspects --> start confirmed --> running

A suspect was running when its consumer died (see suspects.py). A job that waited in the memory of a
consumer that died (0 crashes) may have started without a record: its claim reports it as started,
so that it is charged if the consumer dies again, and it runs among the others in its order.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from consumer.core.jobs import DONE, HAND_BACK, Outcome, claimed, note
from consumer.core.outbox import Outbox
from consumer.core.suspects import Suspects
from queuepool.protocol.codec import read_stamp
from queuepool.verbs.owner.verbs import MAX_BATCH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from consumer.core.jobs import ClaimedJob
    from queuepool.verbs.owner.verbs import Claims

_AHEAD_BEGUN_S = 0.02  # a job from memory that runs for longer is reported as started


class InFlight:
    """open: claimed jobs that have not ended; suspects count from when their start is confirmed.

    open_bytes: of their bodies.
    """

    def __init__(self, last_crashes: int = 2) -> None:
        self.claimed: dict[bytes, ClaimedJob] = {}
        self.open = self.open_bytes = 0
        self.outbox = Outbox()
        self.suspects = Suspects(last_crashes)
        self._ahead: deque[ClaimedJob] = deque()
        self._cancelled: frozenset[bytes] = frozenset()

    def take(
        self, claims: Claims, free: int, now_s: float, refused: Collection[bytes] = ()
    ) -> list[ClaimedJob]:
        """Take claimed jobs; return those to start. All but the first `free` wait in memory.

        refused: ids of those that are to be handed back at once.
        """
        ready: list[ClaimedJob] = []
        ours, cancelled, now_ms = self.claimed, self._cancelled, claims.now_ms
        for i, (id, body) in enumerate(zip(claims.ids, claims.bodies, strict=True)):
            known = ours.get(id)
            if known is not None:
                if read_stamp(known.body) == read_stamp(body):
                    continue  # ours already: its end will be recorded
                known.unanswered = True  # it ended without our knowledge, and this is another job
            job = claimed(id, body, 1, 0, now_ms, now_s)
            crashes = claims.crashes[i] if claims.crashes else None
            if claims.attempts:
                note(job, claims.attempts[i], crashes)
            if id in cancelled:  # a renewal may be read before an armed claim
                job.cancelled = True
            ours[id] = job
            if id in refused:
                self.outbox.add([Outcome(job, HAND_BACK, now_s, now_s)])
                continue
            if job.crashes:
                delayed = self.suspects.take(job, now_s)
                if delayed is not None:
                    self.outbox.add([delayed])
                continue
            if i >= free and crashes is None:
                job.ahead = True
                self._ahead.append(job)
            ready.append(job)
        if ready:
            self._count(ready)
            self.suspects.on_other_start(now_s)
        return ready

    def on_ended(self, outcomes: Sequence[Outcome]) -> None:
        """Put executions that ended, or never started, into the outbox."""
        self.open -= len(outcomes)
        self.open_bytes -= sum([len(outcome.job.body) for outcome in outcomes])
        self.outbox.add(outcomes)
        if self.suspects.watches:
            for outcome in outcomes:
                self.suspects.on_ended(outcome.job, outcome.ended_s)
                if self._ahead:  # its worker may have started the next one from memory
                    self.suspects.on_other_start(outcome.ended_s)

    def hand_back(self, jobs: Sequence[ClaimedJob], now_s: float) -> None:
        """Put jobs that no worker has started into the outbox."""
        self.on_ended([Outcome(job, HAND_BACK, now_s, now_s) for job in jobs])

    def hand_back_lost_claims(
        self, ids: Sequence[bytes], now_s: float, order: Iterable[bytes]
    ) -> None:
        """Hand back jobs that are in flight here although no reply announced them.

        order: that in which the server has what is in flight here, as it was claimed.
        """
        self.open += len(ids)
        self.hand_back([claimed(id, b"", 1, 0, 0, now_s) for id in ids], now_s)
        self.outbox.line_up(order)

    def hand_back_suspects(self, now_s: float) -> None:
        """Hand back the suspects that did not start."""
        waiting = self.suspects.withdraw()  # not those whose start is confirmed
        self._count(waiting)
        self.hand_back(waiting, now_s)

    def hand_back_all(self, now_s: float) -> int:
        """Hand back whatever still runs; return how many."""
        ending = {o.job for o in self.outbox}
        self._count(self.suspects.withdraw())
        running = [job for job in self.claimed.values() if job not in ending]
        self.hand_back(running, now_s)
        return len(running)

    def cancel(self, ids: frozenset[bytes]) -> None:
        """Let the handlers of these jobs see that cancellation was requested; ids: all such ones.

        Jobs not yet started first: a job that stops may let another start at once. Ids that were
        claimed but not announced yet are remembered until the next renewal.
        """
        self._cancelled = ids
        jobs = [job for job in map(self.claimed.get, ids) if job is not None]
        for job in sorted(jobs, key=lambda job: job.started_s > 0):
            job.cancelled = True

    @property
    def some_go_back(self) -> bool:
        """Return whether jobs are to be handed back that the server still has as ours."""
        return self.outbox.returns

    @property
    def all_begun(self) -> bool:
        """Return whether each job that workers were given has begun, or has ended."""
        ending = {outcome.job for outcome in self.outbox}
        running = [j for j in self.claimed.values() if j.started_s > 0 and j not in ending]
        return len(running) >= self.open

    @property
    def has_unrecorded(self) -> bool:
        """Return whether the outbox holds anything."""
        return len(self.outbox) > 0

    def recorded(self, outcomes: Sequence[Outcome], left: Collection[bytes] = ()) -> list[Outcome]:
        """Forget these outcomes and their jobs: the server has them. Returns those.

        left: ids of jobs that the server left alone; their ends are sent again, with stamps.
        """
        alone = [o for o in outcomes if o.job.id in left and o.end is DONE] if left else []
        again = [o for o in alone if not o.job.unanswered]
        self.mark_unanswered(o.job for o in again)
        done = [o for o in outcomes if o not in again] if again else list(outcomes)
        self.outbox.forget(done)
        forget = self.claimed.pop
        for outcome in done:
            job = outcome.job
            ours = forget(job.id, None)
            if ours is not job and ours is not None:  # another one, by the same id
                self.claimed[job.id] = ours
        return done

    def mark_unanswered(self, jobs: Iterable[ClaimedJob] | None = None) -> None:
        """Note that the ends of these jobs, or of all ours, may already be recorded."""
        ours = [*self.claimed.values(), *(o.job for o in self.outbox)] if jobs is None else jobs
        for job in ours:
            job.unanswered = True

    def starts_to_report(self, now_s: float, workers: int) -> list[ClaimedJob]:
        """Return the jobs to report as started: suspects before they start, others after.

        One that is reported and waits for a worker would be charged for someone else's crash.
        """
        suspects = self.suspects.to_start(now_s, workers - self.open)
        self.suspects.on_start_sent(suspects)
        begun: list[ClaimedJob] = []
        # The same job, not only its id: one that was handed back may be ours again.
        while self._ahead and self.claimed.get(self._ahead[0].id) is not self._ahead[0]:
            self._ahead.popleft()
        if self._ahead and 0.0 < self._ahead[0].started_s < now_s - _AHEAD_BEGUN_S:
            begun = [j for j in self._ahead if j.started_s > 0.0 and self.claimed.get(j.id) is j]
        # Suspects last: among starts of one call the order is theirs, and those began before.
        return [*begun[: MAX_BATCH - len(suspects)], *suspects]

    def on_started(self, begun: Sequence[ClaimedJob], now_s: float) -> list[ClaimedJob]:
        """Note that the server knows these starts; return the suspects that may begin now."""
        for job in begun:
            job.ahead = False
        self._ahead = deque(job for job in self._ahead if job.ahead)
        suspects = self.suspects.on_started(begun, now_s)
        self._count(suspects)
        return suspects

    def _count(self, jobs: Collection[ClaimedJob]) -> None:
        self.open += len(jobs)
        self.open_bytes += sum([len(job.body) for job in jobs])  # a list is faster
