"""What was finished before a step, by which the gain check of `sized` judges it. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What was finished before a step.

    cautious: by as many as there were, all busy for one cycle at most, so rather too few. sure: a
    step of any size may follow it, before the verdict.
    """

    workers: float
    cycles: float
    finished: float
    per_s: float
    cautious: bool = False
    sure: bool = True

    @property
    def sure_share(self) -> float:
        """Return the share of the completions that the workers surely made in that time.

        Each may have begun one of a single cycle before it.
        """
        if self.cautious or self.cycles >= 2:
            return 1.0
        return max(1 - self.workers / self.finished, 0.0)
