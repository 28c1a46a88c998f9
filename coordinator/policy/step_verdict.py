"""Whether a step up of `sized` was a gain: its completions before and after, compared. Pure.

n/n0 times the workers should finish at least half of the n/n0 - 1 more. The times after which that
is judged are cycles; of jobs of more than 2 s, they are the times of so many jobs, as new workers
finish nothing before that.
"""

from __future__ import annotations

import math

from coordinator.policy.baseline import Baseline
from coordinator.policy.gain_check import GainCheckSettings, Verdict, Window

ATTEMPT = 1.25  # times the workers of a ceiling, which an attempt after it has at least
LONGEST_JOB_S = 2.0  # longer ones say too little within a few cycles
_FEWER = 0.9  # clearly fewer than this share of the completions: the jobs have changed
_LONG_CYCLES = 6.0  # with one count, after which one standard deviation is proof enough, not three
_EARLY_JOBS, _LONG_JOBS, _LAST_JOBS = 3.0, 6.0, 10.0  # times of a long job, instead of cycles
_MOST_CYCLES = 3_600.0


def judge(
    before: Baseline | None, after: Window, trial_cycles: int, settings: GainCheckSettings
) -> Verdict:
    """Compare what was finished since the step with what was finished before it."""
    if before is None or not after.seconds:
        return Verdict.UNDECIDED
    jobs = _job_cycles(before, after)
    early = trial_cycles < settings.min_cycles or after.cycles < _EARLY_JOBS * jobs
    if early and (before.sure or not trial_cycles):
        return Verdict.UNDECIDED
    if after.workers <= before.workers or before.per_s <= 0:
        return Verdict.UNDECIDED
    ratio, promise = after.lasting_per_s / before.per_s, after.workers / before.workers
    half = 1 + (promise - 1) / 2
    scatter = math.sqrt(1 / before.finished + 1 / max(after.finished, 1.0))
    # With a baseline that is too low, a gain of half the promise may be none.
    goal = max(half, promise / (1 + 2 * scatter)) if before.cautious else half
    if ratio >= goal:
        return Verdict.GAINED
    if early:
        return Verdict.UNDECIDED
    if ratio * (1 + 2 * settings.assumed_cv * scatter) < _FEWER:
        return Verdict.CHANGED
    noise = settings.assumed_cv * scatter
    if trial_cycles >= patience_cycles(before, after, settings) and (
        ratio < goal * before.sure_share
    ):
        # Still below the promise: a ceiling found by what fewer finish risks little.
        return Verdict.UNDECIDED if ratio * (1 + 2 * noise) > promise else Verdict.NO_GAIN
    large = promise >= ATTEMPT and after.cycles >= max(_LONG_CYCLES, _LONG_JOBS * jobs)
    if large and ratio * (1 + noise) < half * before.sure_share:
        return Verdict.NO_GAIN
    late = 1 / after.cycles + (0.0 if before.cautious else 1 / before.cycles)
    margin = 3 * noise + (settings.assumed_lag_cycles + jobs) * late
    return Verdict.NO_GAIN if ratio * (1 + margin) < half else Verdict.UNDECIDED


def patience_cycles(before: Baseline, after: Window, settings: GainCheckSettings) -> float:
    """Return for how many cycles a step is on trial."""
    return max(settings.max_cycles, _LAST_JOBS * _job_cycles(before, after))


def _job_cycles(before: Baseline, after: Window) -> float:
    """Return how many cycles a long job took before the step; 0 of a shorter one."""
    if before.per_s <= 0 or not after.seconds:
        return 0.0
    job_s = before.workers / before.per_s
    if job_s <= LONGEST_JOB_S:
        return 0.0
    return min(job_s * after.cycles / after.seconds, _MOST_CYCLES)
