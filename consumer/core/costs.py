"""Whose turn comes later, as its jobs take longer: fairness by time instead of by jobs. Pure.

Turns go by jobs: of two groups, one with jobs of 2 s and one with jobs of 20 ms, the first would
get a hundred times the worker seconds of the second. So the owner adds up what each lane has cost,
and passes those to each claim that are ahead of others of their tier: they have their turn later,
and so get what the others leave (see levels). Start-time fair queueing does the same (P. Goyal et
al., 1996): a lane that comes, or comes back, starts at the lowest cost of its tier, so that nobody
pays for the past and nobody saves up. One that comes back starts no higher than any that has jobs,
credit included: else it would wait until that is spent.

A new lane starts a little below, so that small groups finish soon: it has a credit of CREDIT_S, or
of what its first CREDIT_JOBS take, but no more than all workers do in CREDIT_S.

A claim decides once for all its jobs, so while a lane of long jobs may have its turn it takes few:
it fills the idle workers, or half of them if it can take only long jobs, and the next claim sees
what these are charged. Else long jobs would fill the memory, and keep the workers. Of a lane of
which none has ended it takes no more than an even part, for they may be long.

Jobs that take no time cost nothing, although the process can do only so many of them. Beside such a
lane, workers are idle, and jobs of another would wait for nothing. So what idle workers could have
done is charged to the lanes of short jobs, as if it had been offered to them, up to what the
dearest lane of their tier has cost.

Nothing is counted while all jobs are short, and nothing is passed while the means of a tier differ
by less than FACTOR. The costs are in memory: a successor starts from 0.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from consumer.core.jobs import HAND_BACK
from consumer.core.levels import (
    NEVER_S,
    Lane,
    Levels,
    level_of,
    most_jobs,
    offer,
    without_credit,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from consumer.core.jobs import ClaimedJob, Outcome

MOST_LANES = 256  # counted; among more, many have a turn before any has its second
_COUNT_FROM_S = 0.0005  # the mean of a turn
_COUNT_FOR_S = 60.0
_MOST_IDLE_S = 0.1  # for which idle workers are charged at once
_WEIGHT = 0.2  # of the latest job in the mean
_IDLE_S = 1.0
CREDIT_S = 0.5  # of one worker, for a lane that is new; once a job has ended, of all workers
CREDIT_JOBS = 16  # of which it has the time, at most
_CREDIT = 0.1  # of the time for which it was away


class Costs:
    """Lanes by tier and group, as claims name them."""

    def __init__(self) -> None:
        self._lanes: dict[bytes, Lane] = {}
        self._running: dict[bytes, tuple[bytes, float]] = {}  # job id -> lane, time of its claim
        self._count_until_s = 0.0
        self._slots = 1
        self._at_s = 0.0

    def on_claimed(
        self,
        jobs: Sequence[ClaimedJob],
        now_s: float,
        *,
        claimed: Collection[bytes],
        all_taken: bool,
        ahead: Sequence[bytes] = (),
    ) -> None:
        """Count claimed jobs.

        claimed: all ids that are ours. all_taken: nothing else was ready. ahead: what the claim
        was passed; if it took jobs of these, those before them in their tier have none left.
        """
        if now_s >= self._count_until_s:
            if self._lanes:
                self._lanes, self._running = {}, {}
            return
        for job in jobs:
            name = self._lane_of(job)
            lane = self._lanes.get(name)
            if lane is None:
                if len(self._lanes) >= MOST_LANES:
                    continue
                lane = self._lanes[name] = Lane(NEVER_S, empty=True)
            if lane.empty:
                self._come(lane, name[:1], now_s)
            self._stop(job.id)  # handed back, and ours again
            lane.running += 1
            lane.began_s += now_s
            lane.seen_s, lane.empty = now_s, False
            self._running[job.id] = name, now_s
        if ahead:
            self._find_empty(jobs, ahead)
        for job_id in [job_id for job_id in self._running if job_id not in claimed]:
            self._stop(job_id)  # it left in another way
        self._forget(now_s, all_taken=all_taken)

    def on_ended(self, outcomes: Sequence[Outcome]) -> None:
        """Charge jobs that ended to their lanes."""
        if not outcomes:
            return
        now_s = outcomes[-1].ended_s
        counts = now_s < self._count_until_s
        if not counts or now_s > self._count_until_s - _COUNT_FOR_S / 2:
            busy_s = sum([o.ended_s - o.started_s for o in outcomes if o.end is not HAND_BACK])
            if busy_s > _COUNT_FROM_S * len(outcomes):
                self._count_until_s = now_s + _COUNT_FOR_S
        if not counts:
            return
        for outcome in outcomes:
            lane = self._stop(outcome.job.id)
            if lane is not None and outcome.end is not HAND_BACK:
                lane.seen_s = now_s
                took_s = outcome.ended_s - outcome.started_s
                lane.cost_s += took_s
                if not lane.mean_s:  # now it is known what its first jobs take
                    credit_s = min(CREDIT_JOBS * took_s, CREDIT_S * self._slots)
                    lane.cost_s -= max(0.0, credit_s - CREDIT_S)
                lane.mean_s += (_WEIGHT if lane.mean_s else 1.0) * (took_s - lane.mean_s)

    def on_handed_back(self, jobs: Iterable[ClaimedJob]) -> None:
        """Forget that jobs were claimed: no worker has started them."""
        for job in jobs:
            self._stop(job.id)

    def ahead(self, now_s: float, slots: int) -> list[bytes]:
        """Return the lanes that have their turn later, as a claim takes them (see Levels.names)."""
        if len(self._lanes) < 2:
            return []
        idle_s = self._idle_s(now_s, slots)
        self._slots, self._at_s, levels = slots, now_s, Levels()
        for tier in {name[:1] for name in self._lanes}:
            lanes = self._of_tier(tier)
            if idle_s > 0:
                offer(lanes.values(), idle_s, now_s, slots)
            levels.add(lanes, now_s, slots)
        return levels.names()

    def most(self, ahead: Collection[bytes], slots: int, starting: int) -> float:
        """Return how many jobs a claim may take, of which `starting` find an idle worker."""
        most = inf
        if len(self._lanes) < 2:
            return most
        for tier in {name[:1] for name in self._lanes}:
            lanes = self._of_tier(tier)
            turns = [lane for name, lane in lanes.items() if name not in ahead]
            if turns and len(lanes) > 1:
                means = [lane.mean_s for lane in lanes.values()]
                most = min(most, most_jobs(turns, min(means), len(lanes), slots, starting))
        return most

    def _idle_s(self, now_s: float, slots: int) -> float:
        """Return the seconds for which workers were idle lately, as far as it is known."""
        lanes = self._lanes.values()
        busy = sum([min(lane.running, slots) for lane in lanes if not lane.is_short])
        return max(0, slots - busy) * min(now_s - self._at_s, _MOST_IDLE_S)

    def _find_empty(self, jobs: Sequence[ClaimedJob], ahead: Sequence[bytes]) -> None:
        level, reached = level_of(ahead), dict[bytes, int]()
        for name in map(self._lane_of, jobs):
            reached[name[:1]] = max(reached.get(name[:1], 0), level.get(name, 0))
        for name, lane in self._lanes.items():
            lane.empty = lane.empty or level.get(name, 0) < reached.get(name[:1], 0)

    def _stop(self, job_id: bytes) -> Lane | None:
        name, began_s = self._running.pop(job_id, (b"", 0.0))
        lane = self._lanes.get(name)
        if lane is not None:
            lane.running -= 1
            lane.began_s -= began_s
        return lane

    def _come(self, lane: Lane, tier: bytes, now_s: float) -> None:
        others = self._of_tier(tier).values()
        charged_s = [(other, other.charged_s(now_s, self._slots)) for other in others]
        standing_s = without_credit(charged_s) or [other.level_s for other in others]
        lane.level_s = floor_s = min(standing_s, default=0.0)
        if lane.seen_s > NEVER_S:  # it comes back
            floor_s = min([floor_s, *(cost_s for _, cost_s in charged_s)])
        lane.cost_s = max(lane.cost_s, floor_s - min(CREDIT_S, _CREDIT * (now_s - lane.seen_s)))

    def _of_tier(self, tier: bytes) -> dict[bytes, Lane]:
        # Those that have jobs.
        lanes = self._lanes.items()
        return {name: lane for name, lane in lanes if name[:1] == tier and not lane.empty}

    @staticmethod
    def _lane_of(job: ClaimedJob) -> bytes:
        return job.body[1:2] + job.group

    def _forget(self, now_s: float, *, all_taken: bool) -> None:
        longest_s = max((lane.mean_s for lane in self._lanes.values()), default=0.0)
        until_s = now_s - _IDLE_S - 3 * longest_s
        for name, lane in list(self._lanes.items()):
            if lane.running == 0 and (all_taken or lane.seen_s < until_s):
                del self._lanes[name]
