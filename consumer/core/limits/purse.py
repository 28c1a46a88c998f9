"""The tokens of jobs that were claimed and have not ended, as far as this owner knows. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core.jobs import HAND_BACK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from consumer.core.jobs import Outcome
    from consumer.core.limits.downstream_waits import DownstreamWaits
    from consumer.core.limits.gate import GateView, Tokens
    from consumer.core.limits.gates import Gates


class Purse:
    """What the claimed jobs of one partition hold. held: by their ids."""

    def __init__(self, gates: Gates, waits: DownstreamWaits) -> None:
        self.held: dict[bytes, tuple[GateView, Tokens]] = {}
        self._gates, self._waits = gates, waits

    def end(self, job_id: bytes) -> None:
        """Forget a job, if it is known, so that another one of its gate may run."""
        view, _ = self.held.pop(job_id, (None, ()))
        if view is not None:
            view.running -= 1
            self._gates.changed(view)

    def keep(self, claimed: Collection[bytes], unstarted: Iterable[bytes]) -> bool:
        """Forget jobs that are not claimed any more; return whether there were any.

        unstarted: those that did not begin, whose tokens are used for others.
        """
        ended = [job_id for job_id in self.held if job_id not in claimed]
        never = frozenset(unstarted if ended else ())
        for job_id in ended:
            if job_id in never:
                view, tokens = self.held[job_id]
                view.take_back(tokens)
            self.end(job_id)
        return bool(ended)

    def on_ended(self, outcomes: Iterable[Outcome]) -> None:
        """Count jobs that ended, and pass on that what they need told them to wait."""
        for one in outcomes if self.held else ():
            view, _ = self.held.get(one.job.id, (None, ()))
            if view is not None and one.end is not HAND_BACK:
                view.on_worked(one.ended_s - one.started_s)
            if one.slow_ms:
                self.on_slow(one.job.id, one.slow_ms, one.ended_s)

    def on_slow(self, job_id: bytes, wait_ms: int, now_s: float) -> None:
        """Pass on that what a job needs told it to wait."""
        view, _ = self.held.get(job_id, (None, ()))
        for share in view.limits if view else ():
            self._waits.note(share.name, now_s + wait_ms / 1000, now_s)
