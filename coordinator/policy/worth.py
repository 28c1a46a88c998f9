"""How much work jobs were that finished, for the gain check: see `queuepool.models.work`. Pure."""

from __future__ import annotations

from msgspec import Struct

from queuepool.models.work import EndedWork

_AS_USUAL = 1.5  # times the usual of their tasks: less is no sign of a limit downstream


class Worth(Struct, frozen=True, kw_only=True):
    """What the latest report says that had jobs; last: the latest report.

    share: as how many jobs of equal length a job counts. slower: what jobs took, as a multiple of
    what is usual for their tasks; 0 if that is not known.
    """

    last: EndedWork | None = None
    share: float = 1.0
    slower: float = 0.0

    @property
    def as_usual(self) -> bool:
        """Return whether jobs take about as long as others of their tasks did."""
        return 0 < self.slower < _AS_USUAL

    def observe(self, work: EndedWork | None) -> Worth:
        """Return what is known after one more report; None if there is none."""
        last = self.last
        if work is None:
            return self if last is None else Worth()
        if work == last:
            return self
        if last is None or work.ended <= last.ended or work.equal <= last.equal:
            return Worth(last=work, share=self.share, slower=self.slower)  # of a new consumer
        equal = work.equal - last.equal
        return Worth(
            last=work,
            share=min(equal / (work.ended - last.ended), 1.0),
            slower=max(work.took - last.took, 0.0) / equal,
        )
