"""The gain check of `sized`: a ceiling where more workers finished no more. Pure.

`sized` grows by any factor at once, so its steps are judged by their own promise: n/n0 times the
workers should finish at least half of the n/n0 - 1 more. Less than that, outside the noise of the
counts (see `gain_check`), sets a ceiling for a while, which `probe` finds; each attempt after it is
one step, and waits for its verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from coordinator.policy.baseline import Baseline
from coordinator.policy.demand import Demand, busy_workers
from coordinator.policy.gain_check import GainCheckSettings, Verdict, Window
from coordinator.policy.model import Reading
from coordinator.policy.probe import Probe

ATTEMPT = 1.25  # times the workers of a ceiling, which an attempt after it has at least
_RECENT_S = 3.0  # of the baseline where no backlog stands
_LONGEST_JOB_S = 2.0  # longer ones say too little within the cycles that are compared
_FEWER = 0.9  # clearly fewer than this share of the completions: the jobs have changed
_ANEW_S = 3.0  # for which a baseline is measured then; doubles if that happens again soon
_OLDER_JOBS = 20.0  # finished before the last seconds: then their service times count, too
_LONG_CYCLES = 6  # with one count, after which one standard deviation is proof enough, not three
_SURE_CYCLES, _SURE_JOBS = 3, 300.0  # of a baseline, and known jobs; with less, it says little
_PROBE_S = 20.0  # by which a ceiling may last longer, for a probe
_KEEP_S = 20.0  # of a window in which nothing changes, or of a trial that was interrupted
_NONE = Window()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What the completions say about steps up.

    window: saturated readings with one worker count; last, older: the last two saturated cycles,
    whatever the count. before: None while no step is on trial. interrupted: what that was, for a
    while after the backlog was small. workers: the ceiling, 0 for none.
    careful: there was a ceiling, so steps are made one at a time. calm: the workers before the
    backlog, or when it was first seen.
    """

    window: Window = field(default_factory=Window)
    last: Window = field(default_factory=Window)
    older: Window = field(default_factory=Window)
    saturated: bool = False  # the last reading had more jobs waiting than workers
    full: bool = False  # at the last reading, every worker was busy
    recent: Window = field(default_factory=Window)  # fading; workers: the busy ones of the last
    recent_worker_s: float = 0.0
    before: Baseline | None = None
    interrupted: Baseline | None = None
    interrupted_s: float = 0.0
    trial_cycles: int = 0
    workers: int = 0
    probe: Probe = field(default_factory=Probe)
    pause_left_s: float = 0.0
    pause_next_s: float = 0.0
    careful: bool = False
    calm: int = 0

    def observe(
        self,
        reading: Reading,
        seconds: float,
        finished: float,
        settings: GainCheckSettings,
        least: int = 1,
    ) -> Ceiling:
        """Return what is known after one more reading; nothing new, if its counts are old.

        finished: jobs of equal length (see `worth`). least: the fewest workers that may run.
        """
        if reading.is_old(seconds):
            return replace(self, pause_left_s=max(self.pause_left_s - seconds, -_PROBE_S))
        saturated = self.saturated and _is_deep(reading)
        one = _NONE  # where completions depend on arrivals, not on workers, they prove nothing
        if saturated:
            one = Window(workers=reading.workers, cycles=1, seconds=seconds, finished=finished)
        seen = self._passed(reading, seconds, finished, one)
        if seen.workers and seen.is_over(saturated=saturated):
            seen = replace(seen, workers=0, careful=True)
        if not saturated:
            return seen
        if seen.workers:
            probe, workers = seen.probe.observe(seen.window, seen.workers, least)
            seen = replace(seen, probe=probe, workers=workers)
        return _end_trial(seen, settings)

    def _passed(self, reading: Reading, seconds: float, finished: float, one: Window) -> Ceiling:
        """Return what is known after one more cycle, before anything is judged.

        one: that cycle, if it was saturated.
        """
        keep = math.exp(-seconds / _RECENT_S)
        busy, window = busy_workers(reading), _NONE
        before = self.before or self.interrupted
        interrupted, interrupted_s = None, 0.0
        if one.cycles:
            window = self.window.add(reading.workers, seconds, finished, keep_s=_KEEP_S)
        else:
            interrupted_s = self.interrupted_s + seconds if self.before is None else 0.0
            interrupted = before if interrupted_s < _KEEP_S else None
            before = None
        # Not by `replace`, which would take a good part of a cycle over many partitions.
        return Ceiling(
            window=window,
            last=one,
            older=self.last if one.cycles else _NONE,
            before=before,
            interrupted=interrupted,
            interrupted_s=interrupted_s if interrupted else 0.0,
            trial_cycles=self.trial_cycles + 1 if before else 0,
            saturated=_is_deep(reading),
            full=busy >= reading.workers > 0,
            recent=Window(
                workers=busy,
                cycles=min(self.recent.cycles + 1, 3) if busy else 0,
                seconds=self.recent.seconds * keep + seconds,
                finished=self.recent.finished * keep + finished,
            ),
            recent_worker_s=self.recent_worker_s * keep + busy * seconds,
            workers=self.workers,
            probe=self.probe,
            pause_left_s=max(self.pause_left_s - seconds, -_PROBE_S),
            pause_next_s=self.pause_next_s,
            careful=self.careful,
            calm=self.calm if self.calm and _is_deep(reading) else reading.workers,
        )

    def without_trial(self) -> Ceiling:
        """Return the state in which no step is judged, since jobs are others than before."""
        if self.before is None and self.interrupted is None:
            return self
        return replace(self, before=None, interrupted=None, trial_cycles=0)

    def is_over(self, *, saturated: bool) -> bool:
        """Return whether the ceiling ends; a probe that runs may finish, for a while."""
        probing = saturated and self.probe.running
        return self.pause_left_s <= (-_PROBE_S if probing else 0.0)

    def can_judge(self, demand: Demand, settings: GainCheckSettings) -> bool:
        """Return whether a step up now could be judged, or need not be: then it may be large."""
        if self.before is not None or not _is_judged(demand, settings):
            return True
        return self._baseline(demand, settings) is not None

    def is_unsure(self, demand: Demand, settings: GainCheckSettings) -> bool:
        """Return whether a step up now would be judged by a baseline that says little."""
        if not _is_judged(demand, settings):
            return False
        before = self.before or self._baseline(demand, settings)
        return before is not None and not before.sure

    def knows_older(self, demand: Demand) -> bool:
        """Return whether service times are known from before the last seconds."""
        return demand.finished >= self.recent.finished + _OLDER_JOBS

    def step_up(self, demand: Demand, settings: GainCheckSettings) -> Ceiling:
        """Put a step up on trial, if none is and there is a baseline to judge it by."""
        if self.before is not None or not _is_judged(demand, settings):
            return self
        if self.workers:  # it only goes back to a ceiling, which was judged
            return self
        before = self.interrupted or self._baseline(demand, settings)
        return replace(self, before=before, trial_cycles=0)

    def _baseline(self, demand: Demand, settings: GainCheckSettings) -> Baseline | None:
        found = self._measured(demand, settings)
        if found is None or self.window.cycles >= _SURE_CYCLES or not self.knows_older(demand):
            return found
        return found.without_chance(demand.service_s)

    def _measured(self, demand: Demand, settings: GainCheckSettings) -> Baseline | None:
        window, recent = self.window, self.recent
        known = demand.finished >= _SURE_JOBS
        if window.finished >= max(settings.min_finished, recent.finished):
            return Baseline(
                workers=window.workers,
                cycles=window.cycles,
                finished=window.finished,
                per_s=window.per_s,
                sure=known or window.cycles >= _SURE_CYCLES,
            )
        if recent.finished >= settings.min_finished and self.recent_worker_s > 0 and recent.cycles:
            # What the workers of now finish at the pace of all that were busy lately.
            return Baseline(
                workers=recent.workers,
                cycles=recent.cycles,
                finished=recent.finished,
                per_s=recent.workers * recent.finished / self.recent_worker_s,
                cautious=self.full and recent.cycles == 1,
                sure=known,
            )
        return None

    def judge(self, settings: GainCheckSettings) -> Verdict:
        """Compare what was finished since the step with what was finished before it."""
        before, after = self.before, self._after()
        early = self.trial_cycles < settings.min_cycles
        if (
            before is None
            or not after.seconds
            or (early and (before.sure or not self.trial_cycles))
        ):
            return Verdict.UNDECIDED
        if after.workers <= before.workers or before.per_s <= 0:
            return Verdict.UNDECIDED
        ratio, promise = after.per_s / before.per_s, after.workers / before.workers
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
        if self.trial_cycles >= settings.max_cycles and ratio < goal * before.sure_share:
            # Still below the promise: a ceiling found by what fewer finish risks little.
            return Verdict.UNDECIDED if ratio * (1 + 2 * noise) > promise else Verdict.NO_GAIN
        large = promise >= ATTEMPT and after.cycles >= _LONG_CYCLES
        if large and ratio * (1 + noise) < half * before.sure_share:
            return Verdict.NO_GAIN
        late = 1 / after.cycles + (0.0 if before.cautious else 1 / before.cycles)
        margin = 3 * noise + settings.assumed_lag_cycles * late
        return Verdict.NO_GAIN if ratio * (1 + margin) < half else Verdict.UNDECIDED

    def close(self, settings: GainCheckSettings, least: int = 1) -> Ceiling:
        """Return the state after the verdict that there was no gain: with a ceiling."""
        before, after = self.before, self._after()
        if before is None:
            return self
        probe, workers = self.probe.after_no_gain(before, after, least)
        pause_s = min(max(self.pause_next_s, settings.retry_s), settings.retry_max_s)
        return Ceiling(
            saturated=self.saturated,
            workers=max(workers, 1),
            probe=probe,
            pause_left_s=pause_s,
            pause_next_s=2 * pause_s,
            careful=True,
            calm=self.calm,
        )

    def measure_anew(self, settings: GainCheckSettings) -> Ceiling:
        """Return the state in which the workers before a step measure other jobs than before."""
        before = self.before
        if before is None:
            return self
        again = self.pause_left_s > -_PROBE_S
        pause_s = min(max(self.pause_next_s, _ANEW_S), settings.retry_max_s) if again else _ANEW_S
        return Ceiling(
            saturated=self.saturated,
            workers=max(math.ceil(before.workers), 1),
            probe=Probe(ruled_out=True),
            pause_left_s=pause_s,
            pause_next_s=2 * pause_s,
            careful=True,
            calm=self.calm,
        )

    def explain(self) -> str:
        """Return the figures of a verdict."""
        before, after = self.before, self._after()
        if before is None:
            return ""
        return (
            f"{after.workers} workers finish {after.per_s:.1f} jobs/s, {before.workers:.3g} "
            f"finished {before.per_s:.1f}"
        )

    def _after(self) -> Window:
        """Return the window since the step, or the last two cycles while it still grows."""
        if self.window.cycles > 2 or self.older.cycles == 0:
            return self.window
        one, other = self.last, self.older
        return Window(
            workers=max(one.workers, other.workers),
            cycles=2,
            seconds=one.seconds + other.seconds,
            finished=one.finished + other.finished,
        )


def _is_judged(demand: Demand, settings: GainCheckSettings) -> bool:
    return settings.enabled and demand.service_s <= _LONGEST_JOB_S


def _is_deep(reading: Reading) -> bool:
    return reading.backlog > max(reading.workers, 1)


def _end_trial(seen: Ceiling, settings: GainCheckSettings) -> Ceiling:
    verdict = seen.judge(settings)
    if verdict is Verdict.GAINED:
        return replace(
            seen, before=None, trial_cycles=0, probe=Probe(), pause_next_s=0.0, careful=False
        )
    if verdict is Verdict.UNDECIDED and seen.trial_cycles >= settings.max_cycles:
        return replace(seen, before=None, trial_cycles=0)
    return seen
