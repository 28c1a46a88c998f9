"""How long the partition is ours, and how many workers its coordinator wants. Pure.

    own --renewal answered--> ours for a lease, counted from when that renewal was sent
                     `--> commands: the newest one that is valid sets the target

Invariants: a command is obeyed once, and the newest wins; what was applied is said at once. Only
answered renewals count as beats, so an outage is never taken for a failover.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.commands import resolve
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from consumer.settings import ConsumerSettings
    from queuepool.verbs import Verb

_SOONEST_S = 0.25  # between two reports of counts that change


class Lease:
    """Renewals of one ownership and what they brought.

    to_recover: how many dead epochs. version: the release of this process, which it reports.
    """

    def __init__(
        self, acquired: own.Acquired, settings: ConsumerSettings, *, workers: int, now_s: float
    ) -> None:
        self._settings, self._partition = settings, acquired.ownership.partition
        self._kept = f"{settings.dead_keep_jobs}:{settings.dead_keep_bytes}"
        self.version = ""
        self.lease_s = settings.lease_s
        self.target = workers
        self.to_recover = acquired.epochs_to_recover
        self.due_s = self.renewed_s = now_s  # the next one, and when the last answered one was sent
        self._applied, self._beat = acquired.applied, 0
        self._lifeline = self._sent_lifeline = ""
        self.known_lifeline = ""  # that of the last answered renewal: standbys look at it
        self.to_end = False  # as an operator asks
        self.told = 0, 0  # workers, and how many were busy, in the last report

    def is_news(self, alive: int, busy: int, now_s: float) -> bool:
        """Return whether counts changed enough to be reported in a turn that is taken anyway."""
        if now_s < self.renewed_s + _SOONEST_S:
            return False
        workers, were_busy = self.told
        return alive != workers or abs(busy - were_busy) > max(alive // 4, 1)

    @property
    def ends_s(self) -> float:
        """Return the moment until which the partition surely is ours."""
        return self.renewed_s + self.lease_s

    def renewal(
        self, ownership: own.Ownership, *, alive: int, busy: int, load: str = "", limits: str = ""
    ) -> Verb[own.Renewal]:
        """Return the verb that renews the lease and reports `alive` workers, `busy` of them.

        load: how much of the machine is in use. limits: what those let through for which jobs wait.
        """
        self._sent_lifeline = self._lifeline
        self.told = alive, busy
        return own.renew(
            ownership,
            lease_ms=int(self._settings.lease_s * 1000),
            beat=self._beat + 1,
            workers=alive,
            busy=busy,
            target=self.target,
            applied=self._applied,
            load=load,
            lifeline=self._lifeline,
            about=f"{self.version}:{self._kept}",
            limits=limits,
        )

    def on_lifeline(self, lifeline: str) -> None:
        """Report another connection of this process at once."""
        if lifeline != self._lifeline:
            self._lifeline, self.due_s = lifeline, 0.0

    def renewed(self, renewal: own.Renewal, sent_s: float, *, draining: bool) -> list[object]:
        """Apply an answer; returns events. An owner that drains obeys no more commands."""
        self.renewed_s, self._beat = sent_s, self._beat + 1
        self.known_lifeline = self._sent_lifeline
        self.due_s = sent_s + min(1.0, self._settings.lease_s / 4)
        news: list[object] = [events.RolledBack(renewal)] if renewal.rolled_back else []
        if draining:
            return news
        if renewal.to_end and not self.to_end:
            self.to_end = True
            news.append(events.AskedToEnd(self._partition))
        self.to_recover = renewal.epochs_to_recover
        return news + self._obey(renewal) if renewal.commands else news

    def _obey(self, renewal: own.Renewal) -> list[object]:
        resolution = resolve(
            renewal.commands,
            partition=self._partition,
            now_ms=renewal.now_ms,
            min_workers=self._settings.fewest_workers,
            max_workers=self._settings.most_workers,
            applied=self._applied,
        )
        self._applied = resolution.applied
        self.due_s = 0.0  # say at once what was applied
        news: list[object] = [events.CommandRefused(refused) for refused in resolution.refused]
        if resolution.target is not None and resolution.obeyed is not None:
            before, self.target = self.target, resolution.target
            news.append(events.Resized(self.target, before, resolution.obeyed))
        return news
