"""Whose turn comes later, as its jobs take longer: fairness by time instead of by jobs. Pure.

Turns go by jobs: of two groups, one with jobs of 2 s and one with jobs of 20 ms, the first would
get a hundred times the worker seconds of the second. So the owner adds up what each lane has cost,

    cost = seconds of its jobs that ended
           + running jobs x mean seconds of one, or what they took so far if that is more

and passes those to each claim that are ahead of the cheapest lane of their tier by more than a
margin: they have their turn after the others, and so get what the others leave. Start-time fair
queueing does the same (P. Goyal et al., 1996): a lane that comes, or comes back, starts at the
lowest cost of its tier, so that nobody pays for the past and nobody saves up; a little below, by
CREDIT_S at most, so that small groups finish soon. While it has such a credit, several others are
not compared with it: it would put all of them ahead, and what is ahead shares by jobs again.

While none of its jobs has ended, a lane is ahead once it has an even part of the slots: else a
group of very long jobs would have them all before anybody knows.

A claim decides once for all its jobs, so while a lane of long jobs may have its turn it takes few:
it fills the idle workers, or half of them if it can take only long jobs, and the next claim sees
what these are charged. Else long jobs would fill the memory, and keep the workers. Of a lane of
which none has ended it takes no more than an even part, for they may be long.

Nothing is counted while all jobs are short, and nothing is passed while the means of a tier differ
by less than FACTOR. The costs are in memory: a successor starts from 0.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

from consumer.core.jobs import HAND_BACK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from consumer.core.jobs import ClaimedJob, Outcome

FACTOR = 2.0
MOST_LANES = 256  # counted; among more, many have a turn before any has its second
MOST_AHEAD = 32  # passed to a claim
_MARGIN_S, _MARGIN = 0.02, 0.1  # and of the mean
_SHORT_S = 0.0005
_COUNT_FOR_S = 60.0
_WEIGHT = 0.2  # of the latest job in the mean
_IDLE_S = 1.0
_CLAIM_S = 0.1  # of all workers, that one claim may take for long jobs
CREDIT_S = 0.5  # of worker time, for a lane that is new
_CREDIT = 0.1  # of the time for which it was away


class _Lane(Struct):
    cost_s: float
    level_s: float = -1e9  # the lowest cost when it came; below it, it has credit
    running: int = 0
    began_s: float = 0.0  # sum of the times at which the running ones were claimed
    mean_s: float = 0.0
    empty: bool = False
    seen_s: float = -1e9

    def charged_s(self, now_s: float, slots: int) -> float:
        running = min(self.running, slots)  # the others wait in memory
        if not running:
            return self.cost_s
        so_far_s = (now_s - self.began_s / self.running) * running
        return self.cost_s + max(running * self.mean_s, so_far_s)


class Costs:
    """Lanes by tier and group, as claims name them."""

    def __init__(self) -> None:
        self._lanes: dict[bytes, _Lane] = {}
        self._running: dict[bytes, tuple[bytes, float]] = {}  # job id -> lane, time of its claim
        self._count_until_s = 0.0

    def on_claimed(
        self,
        jobs: Sequence[ClaimedJob],
        now_s: float,
        *,
        claimed: Collection[bytes],
        all_taken: bool,
        ahead: Collection[bytes] = (),
    ) -> None:
        """Count claimed jobs.

        claimed: all ids that are ours. all_taken: nothing else was ready. ahead: what the claim
        was passed; if it took jobs of these, the other lanes of their tier have none left.
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
                lane = self._lanes[name] = _Lane(-1e9, empty=True)
            if lane.empty:
                lane.level_s = self._lowest_s(name[:1])
                credit_s = min(CREDIT_S, _CREDIT * (now_s - lane.seen_s))
                lane.cost_s = max(lane.cost_s, lane.level_s - credit_s)
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
            if busy_s > _SHORT_S * len(outcomes):
                self._count_until_s = now_s + _COUNT_FOR_S
        if not counts:
            return
        for outcome in outcomes:
            lane = self._stop(outcome.job.id)
            if lane is not None and outcome.end is not HAND_BACK:
                lane.seen_s = now_s
                took_s = outcome.ended_s - outcome.started_s
                lane.cost_s += took_s
                lane.mean_s += (_WEIGHT if lane.mean_s else 1.0) * (took_s - lane.mean_s)

    def on_handed_back(self, jobs: Iterable[ClaimedJob]) -> None:
        """Forget that jobs were claimed: no worker has started them."""
        for job in jobs:
            self._stop(job.id)

    def ahead(self, now_s: float, slots: int) -> list[bytes]:
        """Return the lanes that had more than their share, those with the most first."""
        if len(self._lanes) < 2:
            return []
        found: list[tuple[float, bytes]] = []
        for tier in {name[:1] for name in self._lanes}:
            lanes = self._of_tier(tier)
            means = [lane.mean_s for lane in lanes.values()]
            if len(means) < 2 or max(means) < FACTOR * min(means):
                continue
            even = max(1, slots // max(1, len(lanes)))
            full = {n for n, lane in lanes.items() if lane.mean_s == 0 and lane.running >= even}
            charged_s = {name: lane.charged_s(now_s, slots) for name, lane in lanes.items()}
            others = [(lane, charged_s[name]) for name, lane in lanes.items() if name not in full]
            standing = _without_credit(others)
            every = [cost_s for _, cost_s in others]
            lowest_s = min(standing if len(standing) > 1 else every, default=0.0)
            for name, lane in lanes.items():
                over_s = charged_s[name] - lowest_s
                if name in full or over_s > _MARGIN_S + _MARGIN * lane.mean_s:
                    found.append((over_s, name))
        found.sort(reverse=True)
        return [name for _, name in found[:MOST_AHEAD]]

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
                most = min(most, _most(turns, min(means), len(lanes), slots, starting))
        return most

    def _find_empty(self, jobs: Sequence[ClaimedJob], ahead: Collection[bytes]) -> None:
        tiers = {name[:1] for name in map(self._lane_of, jobs) if name in ahead}
        for name, lane in self._lanes.items():
            lane.empty = lane.empty or (name[:1] in tiers and name not in ahead)

    def _stop(self, job_id: bytes) -> _Lane | None:
        name, began_s = self._running.pop(job_id, (b"", 0.0))
        lane = self._lanes.get(name)
        if lane is not None:
            lane.running -= 1
            lane.began_s -= began_s
        return lane

    def _lowest_s(self, tier: bytes) -> float:
        # Of what ended: what runs, or only waits in memory, may be handed back.
        lanes = self._of_tier(tier).values()
        standing = _without_credit([(lane, lane.cost_s) for lane in lanes])
        return min(standing or [lane.level_s for lane in lanes], default=0.0)

    def _of_tier(self, tier: bytes) -> dict[bytes, _Lane]:
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


def _without_credit(costs_s: Iterable[tuple[_Lane, float]]) -> list[float]:
    return [cost_s for lane, cost_s in costs_s if cost_s >= lane.level_s]


def _most(turns: Sequence[_Lane], least_s: float, lanes: int, slots: int, starting: int) -> float:
    # turns: the lanes that may have theirs, and share the claim evenly
    most, longest_s = inf, max(lane.mean_s for lane in turns)
    least = max(1, starting if len(turns) > 1 else (starting + 1) // 2)
    if longest_s > 0 and longest_s >= FACTOR * least_s:
        jobs = int(_CLAIM_S * slots * len(turns) / sum([lane.mean_s for lane in turns]))
        most = max(least, jobs)
    unknown = [lane.running for lane in turns if lane.mean_s == 0]
    if unknown and lanes <= MOST_AHEAD:  # of more lanes, none has much of a claim
        most = min(most, max(least, len(turns) * max(1, slots // lanes - max(unknown))))
    return most
