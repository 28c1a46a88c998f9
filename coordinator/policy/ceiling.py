"""The gain check of `sized`: a ceiling where more workers finished no more. Pure.

`sized` grows by any factor at once, so its steps are judged by their own promise: n/n0 times the
workers should finish at least half of the n/n0 - 1 more. Less than that, outside the noise of the
counts (see `gain_check`), sets a ceiling for a while, which `probe` finds; each attempt after it is
one step, and waits for its verdict.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from coordinator.policy import step_verdict
from coordinator.policy.baseline import Baseline
from coordinator.policy.demand import Demand, busy_workers
from coordinator.policy.gain_check import GainCheckSettings, Verdict, Window
from coordinator.policy.model import Reading
from coordinator.policy.probe import Probe
from coordinator.policy.step_verdict import LONGEST_JOB_S

_RECENT_S = 3.0  # of the baseline where no backlog stands
_ANEW_S = 3.0  # for which a baseline is measured then; doubles if that happens again soon
_OLDER_JOBS = 20.0  # finished before the last seconds: then their service times count, too
_SURE_CYCLES, _SURE_JOBS = 3, 300.0  # of a baseline, and known jobs; with less, it says little
_PROBE_S = 20.0  # by which a ceiling may last longer, for a probe
_KEEP_S = 20.0  # of a window in which nothing changes, or of a trial that was interrupted
_KEEP_JOBS, _MOST_KEEP_S = 10.0, 3_600.0  # of such a window, if a job takes long
_NONE = Window()


class Ceiling(Struct, frozen=True, kw_only=True):
    """What the completions say about steps up.

    window: saturated readings with one worker count; last, older: the last two saturated cycles,
    whatever the count. before: None while no step is on trial. interrupted: what that was, for a
    while after the backlog was small. workers: the ceiling, 0 for none.
    careful: there was a ceiling, so steps are made one at a time. calm: the workers before the
    backlog, or when it was first seen. needed: the workers of which fewer were found to finish
    clearly fewer jobs of this backlog; needed_s: what a job took when more were last found to help.
    """

    window: Window = Window()
    last: Window = Window()
    older: Window = Window()
    saturated: bool = False  # the last reading had more jobs waiting than workers
    full: bool = False  # at the last reading, every worker was busy
    recent: Window = Window()  # fading; workers: the busy ones of the last
    recent_worker_s: float = 0.0
    before: Baseline | None = None
    interrupted: Baseline | None = None
    interrupted_s: float = 0.0
    trial_cycles: int = 0
    workers: int = 0
    probe: Probe = Probe()
    pause_left_s: float = 0.0
    pause_next_s: float = 0.0
    careful: bool = False
    calm: int = 0
    needed: int = 0
    needed_s: float = 0.0

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
        if seen.workers and seen.probe.doubted and not saturated:
            return seen.all_needed()
        if seen.workers and seen.is_over(saturated=saturated):
            seen = replace(seen, workers=0, careful=True)
        if not saturated:
            return seen
        if seen.workers:
            probe, workers = seen.probe.observe(seen.window, seen.workers, least)
            if probe.needs_all:
                return seen.all_needed()
            was_right = seen.probe.doubted and not probe.doubted
            seen = replace(seen, probe=probe, workers=workers)
            if was_right:  # from now on, it is a ceiling as after a step
                pause_s = settings.retry_s
                seen = replace(seen, pause_left_s=pause_s, pause_next_s=2 * pause_s)
        return _end_trial(seen, settings)

    def all_needed(self) -> Ceiling:
        """Return the state after a doubt that fewer workers did not confirm."""
        return replace(
            self, probe=Probe(), workers=0, pause_left_s=0.0, careful=False,
            needed=self.probe.doubted,
            needed_s=min(self.window.lasting_service_s, _MOST_KEEP_S),
        )  # fmt: skip

    def _passed(self, reading: Reading, seconds: float, finished: float, one: Window) -> Ceiling:
        """Return what is known after one more cycle, before anything is judged.

        one: that cycle, if it was saturated.
        """
        keep, busy, deep = math.exp(-seconds / _RECENT_S), busy_workers(reading), _is_deep(reading)
        window, before = _NONE, self.before or self.interrupted
        interrupted, interrupted_s = None, 0.0
        if one.cycles:
            window = self.window.add(reading.workers, seconds, finished, _keep_s(self.window))
        else:
            interrupted_s = self.interrupted_s + seconds if self.before is None else 0.0
            interrupted, before = (before if interrupted_s < _KEEP_S else None), None
        return replace(
            self,
            window=window,
            last=one,
            older=self.last if one.cycles else _NONE,
            before=before,
            interrupted=interrupted,
            interrupted_s=interrupted_s if interrupted else 0.0,
            trial_cycles=self.trial_cycles + 1 if before else 0,
            saturated=deep,
            full=busy >= reading.workers > 0,
            recent=Window(
                workers=busy,
                cycles=min(self.recent.cycles + 1, 3) if busy else 0,
                seconds=self.recent.seconds * keep + seconds,
                finished=self.recent.finished * keep + finished,
            ),
            recent_worker_s=self.recent_worker_s * keep + busy * seconds,
            pause_left_s=max(self.pause_left_s - seconds, -_PROBE_S),
            calm=self.calm if self.calm and deep else reading.workers,
            needed=self.needed if deep else 0,
            needed_s=self.needed_s if deep else 0.0,
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
        if self.before is not None or not settings.enabled:
            return self
        if self.workers or self.window.workers < self.needed:  # it goes back to what was judged
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
                per_s=window.lasting_per_s,
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
        return step_verdict.judge(self.before, self._after(), self.trial_cycles, settings)

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
    return settings.enabled and demand.service_s <= LONGEST_JOB_S


def _keep_s(window: Window) -> float:
    return max(_KEEP_S, min(_KEEP_JOBS * window.service_s, _MOST_KEEP_S))


def _is_deep(reading: Reading) -> bool:
    return reading.backlog > max(reading.workers, 1)


def _end_trial(seen: Ceiling, settings: GainCheckSettings) -> Ceiling:
    before, verdict = seen.before, seen.judge(settings)
    if verdict is Verdict.GAINED:
        return replace(
            seen, before=None, trial_cycles=0, probe=Probe(), pause_next_s=0.0, careful=False,
            needed_s=min(seen.window.lasting_service_s, _MOST_KEEP_S),
        )  # fmt: skip
    if before is None or verdict is not Verdict.UNDECIDED:
        return seen
    if seen.trial_cycles >= step_verdict.patience_cycles(before, seen.window, settings):
        return replace(seen, before=None, trial_cycles=0)
    return seen
