"""The steps of a group's calls, which both pools execute."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from queuepool.client.effects import Steps
from queuepool.client.endings import JobDiedError as JobDiedError  # noqa: PLC0414 - known from here
from queuepool.client.foretelling import watched
from queuepool.client.locating import located
from queuepool.client.questions import ask, following
from queuepool.client.routes import Route
from queuepool.client.spreading import configure_whole, parts_of, whole
from queuepool.client.waiting import wait_for
from queuepool.errors.escaping import key_text
from queuepool.models import Eta, GroupStatus
from queuepool.routing.slots import key_bytes
from queuepool.routing.views import View
from queuepool.verbs.producer import pools
from queuepool.verbs.producer import verbs as produce

OnProgress = Callable[[GroupStatus], None]


class GroupSteps:
    """What the groups of both pools share."""

    __slots__ = ("_network", "_route", "partition_key")

    def __init__(self, network: Any, route: Route, partition_key: str | bytes) -> None:
        self._network, self._route, self.partition_key = network, route, partition_key

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self._network, self._route) == (other._network, other._route)

    def __hash__(self) -> int:
        return hash((self._network, self._route))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.partition_key!r})"

    def _status(self) -> Steps[GroupStatus]:
        return (yield from self._whole())[0]

    def _whole(self) -> Steps[tuple[GroupStatus, int]]:
        return (yield from whole(self._network.config, (yield from self._located())))

    def _located(self) -> Steps[Route]:
        return located(self._network.config, self._route)

    def _settled(self) -> Steps[GroupStatus]:
        """Return the totals, which in several pools or slots have ended only if two readings agree.

        In between, a job of one that was read later may have enqueued one for an earlier one.
        """
        total, readings = yield from self._whole()
        while readings > 1 and total.left == 0:
            before, (total, _) = total, (yield from self._whole())
            if total.total == before.total:
                break
        return total

    def _cancel(self) -> Steps[tuple[int, int]]:
        """Cancel in bounded steps, in one slot and one pool after another."""
        config, sums = self._network.config, [0, 0]
        for part in (yield from parts_of(config, (yield from self._located()))):
            yield from following(config, partial(self._cancel_in, part, sums))
        return sums[0], sums[1]

    def _cancel_in(self, route: Route, sums: list[int], view: View) -> Steps[None]:
        # What was cancelled before the group moved is counted, too.
        config, slot = self._network.config, route.slot
        for partition in view.places_of(slot):
            for pool in (config.keyspace.pool, *(yield from ask(config, partition, pools.look()))):
                cursor = b"start"
                while cursor:
                    verb = produce.cancel_group(route.group, cursor, view.version_for(slot))
                    cursor, gone, running = yield from ask(config.of(pool), partition, verb)
                    sums[0], sums[1] = sums[0] + gone, sums[1] + running

    def _eta(self, over_s: float) -> Steps[Eta | None]:
        return watched(self._status, over_s)

    def _configure(self, **settings: Any) -> Steps[bool]:
        route = yield from self._located()
        config, key = self._network.config, self.partition_key
        return (yield from configure_whole(config, route, key, **settings))

    def _wait(
        self, timeout_s: float | None, show: bool | None, on_progress: OnProgress | None
    ) -> Steps[GroupStatus]:
        from queuepool.client.progress_bar import progress_bar  # rich is imported only here

        def left(status: GroupStatus) -> str:
            go_on = "they continue to run" if status.in_flight else "they wait, none runs"
            jobs = f"{status.left:,} of {status.total:,} jobs of group {self.partition_key!r}"
            return f"{jobs} are left; {go_on}"

        with progress_bar(show, key_text(key_bytes(self.partition_key))) as draw:

            def look() -> Steps[GroupStatus]:
                draw(status := (yield from self._settled()))
                if on_progress is not None:
                    on_progress(status)
                return status

            return (
                yield from wait_for(
                    look, timeout_s, has_ended=lambda status: status.left == 0, left=left
                )
            )
