"""The gain check: determines whether the last step up raised completions.

An undeclared limit (a slow database, a rate limit downstream, the interpreter's
own lock under CPU-bound jobs) shows in one way: more workers, an equally deep backlog, and no more
completions. Then the step is undone, and the next attempt waits, longer each time.

A false alarm would halve a healthy pool, so the verdict "no gain" requires three things: the
gain is below a tenth, two cycles have passed on both sides of the step, and the promise of the
step (twice the workers, twice the completions) lies outside the noise of the counts. Noise is
taken from counting statistics: the completions N of a window scatter by about cv x sqrt(N),
where cv is the coefficient of variation of the service time. Where no verdict is possible, for
example because jobs run longer than a few cycles, the step is kept.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from coordinator.policy.base import PolicySettings
from coordinator.policy.model import require


class Verdict(StrEnum):
    """What the completions say about the last step up."""

    GAINED = "gained"
    NO_GAIN = "no_gain"
    CHANGED = "changed"  # far fewer than before: of other jobs, so nothing can be compared
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class GainCheckSettings(PolicySettings):
    """When a step counts as a gain. Times in seconds, cycles counted."""

    enabled: bool = True
    gain: float = 0.1  # a rise of completions by this share is a gain
    min_cycles: int = 2
    max_cycles: int = 10  # after this long without a verdict, the step is kept
    min_finished: int = 30  # completions before the step, or there is no baseline
    assumed_cv: float = 1.5  # of service times; larger means a more cautious verdict
    assumed_lag_cycles: float = 0.25  # how late the count of completions may be
    retry_s: float = 30.0  # pause after a step that did not help; doubles
    retry_max_s: float = 480.0

    def __post_init__(self) -> None:
        require(0 < self.gain < 1, f"gain={self.gain} must lie between 0 and 1")
        require(
            1 <= self.min_cycles <= self.max_cycles,
            f"min_cycles={self.min_cycles} must lie between 1 and max_cycles={self.max_cycles}",
        )
        require(self.min_finished >= 1, f"min_finished={self.min_finished} must be at least 1")
        self.require_not_negative("assumed_cv", "assumed_lag_cycles")
        require(
            0 < self.retry_s <= self.retry_max_s,
            f"retry_s={self.retry_s} must lie between 0 and retry_max_s={self.retry_max_s}",
        )


class Window(Struct, frozen=True, kw_only=True):
    """Completions while the backlog never ran dry and the worker count was constant.

    slow_s, slow_finished: seconds and completions of the slowest cycle; first_s, first_finished: of
    the first one.
    """

    workers: int = 0
    cycles: int = 0
    seconds: float = 0.0
    finished: float = 0.0
    slow_s: float = 0.0
    slow_finished: float = 0.0
    first_s: float = 0.0
    first_finished: float = 0.0

    @property
    def per_s(self) -> float:
        """Completions per second, 0 when nothing was measured."""
        return self.finished / self.seconds if self.seconds > 0 else 0.0

    @property
    def in_waves(self) -> bool:
        """Whether jobs take several cycles, so that they may end together, and then none does."""
        return self.service_s * self.cycles > self.seconds

    @property
    def lasting_per_s(self) -> float:
        """Completions per second; of jobs of several cycles, without the first cycle.

        Such jobs may end in waves, and that of the first cycle was begun before it.
        """
        if not self.in_waves or self.seconds <= self.first_s:
            return self.per_s
        return (self.finished - self.first_finished) / (self.seconds - self.first_s)

    @property
    def lasting_service_s(self) -> float:
        """Return `service_s` by `lasting_per_s`."""
        return self.workers / self.lasting_per_s if self.lasting_per_s > 0 else math.inf

    @property
    def steady_per_s(self) -> float:
        """Completions per second without the slowest cycle, which may have been a stall.

        Between waves, a cycle in which no job ends is none.
        """
        if self.in_waves or self.cycles < 2 or self.seconds <= self.slow_s:
            return self.lasting_per_s
        return (self.finished - self.slow_finished) / (self.seconds - self.slow_s)

    @property
    def settled(self) -> tuple[float, float]:
        """Seconds and completions without the first cycle and, of more than two, the slowest one.

        Workers that have just left still end their jobs in the first one; the slowest may be a
        stall.
        """
        seconds, finished = self.seconds - self.first_s, self.finished - self.first_finished
        slowest_first = (self.slow_s, self.slow_finished) == (self.first_s, self.first_finished)
        if self.cycles <= 2 or slowest_first:
            return seconds, finished
        return seconds - self.slow_s, finished - self.slow_finished

    @property
    def service_s(self) -> float:
        """Seconds one worker spends on one job (Little's law), infinite when unknown."""
        return self.workers * self.seconds / self.finished if self.finished > 0 else math.inf

    def add(self, workers: int, seconds: float, finished: float, keep_s: float) -> "Window":
        """Return the window with one more cycle; beyond `keep_s` the past fades."""
        if workers != self.workers:
            return Window(
                workers=workers,
                cycles=1,
                seconds=seconds,
                finished=finished,
                slow_s=seconds,
                slow_finished=finished,
                first_s=seconds,
                first_finished=finished,
            )
        slower = finished * self.slow_s < self.slow_finished * seconds
        total_s = self.seconds + seconds
        fade = min(1.0, keep_s / total_s) if total_s > 0 else 1.0
        return Window(
            workers=workers,
            cycles=self.cycles + 1,
            seconds=total_s * fade,
            finished=(self.finished + finished) * fade,
            slow_s=seconds if slower else self.slow_s,
            slow_finished=finished if slower else self.slow_finished,
            first_s=self.first_s * fade,
            first_finished=self.first_finished * fade,
        )


class StepTrial(Struct, frozen=True, kw_only=True):
    """`before` is the window before a step on trial; None while no step is on trial."""

    window: Window = Window()
    before: Window | None = None
    pause_left_s: float = 0.0
    pause_next_s: float = 0.0  # 0: the next pause is the first one

    def step_up(self, target: int, cycle_s: float, settings: GainCheckSettings) -> "StepTrial":
        """Put the step up from `target` on trial, if there is a baseline to judge it by."""
        window = self.window
        # New workers need to finish something within the cycles that are compared.
        comparable = (
            settings.enabled
            and window.workers == target
            and window.seconds > 0
            and window.finished >= settings.min_finished
            and window.service_s <= settings.min_cycles * cycle_s
        )
        return replace(self, before=window if comparable else None)

    def take_back(self, settings: GainCheckSettings) -> "StepTrial":
        """End the trial without success and start the pause before the next attempt."""
        pause_s = min(max(self.pause_next_s, settings.retry_s), settings.retry_max_s)
        return StepTrial(pause_left_s=pause_s, pause_next_s=2 * pause_s)

    def judge(self, settings: GainCheckSettings) -> Verdict:
        """Compare the completions since the step with those before it."""
        before, after = self.before, self.window
        if before is None or after.workers <= before.workers or after.cycles == 0:
            return Verdict.UNDECIDED
        ratio = after.per_s / before.per_s
        if ratio >= 1 + settings.gain:
            return Verdict.GAINED
        if min(before.cycles, after.cycles) < settings.min_cycles:
            return Verdict.UNDECIDED
        # Three standard deviations of a ratio of two counts, and a counter that may lag.
        scatter = 1 / before.finished + 1 / max(after.finished, 1.0)
        lag = settings.assumed_lag_cycles * (1 / before.cycles + 1 / after.cycles)
        margin = 3 * settings.assumed_cv * math.sqrt(scatter) + lag
        half_of_promise = (1 + after.workers / before.workers) / 2
        return Verdict.NO_GAIN if ratio * (1 + margin) < half_of_promise else Verdict.UNDECIDED

    def observe(
        self,
        *,
        workers: int,
        seconds: float,
        finished: int,
        saturated: bool,
        elapsed_s: float,
        settings: GainCheckSettings,
    ) -> "StepTrial":
        """Return the state after one more cycle; `saturated`: the backlog never ran dry."""
        pause_left_s = max(self.pause_left_s - elapsed_s, 0.0)
        if not saturated:
            # Completions now depend on arrivals, not on workers: they prove nothing.
            return replace(self, window=Window(), before=None, pause_left_s=pause_left_s)
        window = self.window.add(workers, seconds, finished, keep_s=20.0)
        seen = replace(self, window=window, pause_left_s=pause_left_s)
        verdict = seen.judge(settings)
        if verdict is Verdict.GAINED:
            return replace(seen, before=None, pause_next_s=0.0)
        if verdict is Verdict.UNDECIDED and window.cycles >= seen.patience_cycles(settings):
            return replace(seen, before=None)
        return seen

    def patience_cycles(self, settings: GainCheckSettings) -> int:
        """Return for how many cycles an undecided step delays further steps."""
        # A baseline of one cycle is too noisy for undoing a step, so there is less to wait for.
        short = self.before is not None and self.before.cycles < settings.min_cycles
        return min(2 * settings.min_cycles if short else settings.max_cycles, settings.max_cycles)
