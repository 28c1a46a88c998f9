"""What was finished before a step, by which the gain check of `sized` judges it. Pure."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

_CHANCE = 2.0  # times what service times say was finished: if it was more, they are of other jobs


class Baseline(Struct, frozen=True, kw_only=True):
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

    def without_chance(self, service_s: float) -> Baseline:
        """Return a short measurement, unless it is above what the jobs before it allow.

        It may be high by chance, and the step would seem to miss its promise. service_s: theirs.
        """
        per_s = self.workers / service_s
        chance = per_s < self.per_s <= _CHANCE * per_s
        return replace(self, per_s=per_s) if chance else self
