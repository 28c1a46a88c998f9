"""Where the partition of a consumer is: the server that it was acquired on, until it is left.

called    the place of the last call, which stays in use when the route no longer names it
owned     where the partition was acquired; the route may say by now that it is elsewhere, and what
          is left to do there, its last records and the release, is done there

A route may be older than the ownership: then the partition may have gone, and another owner lives
where it is by now, or was before. So owners of other places count as ended only by a route that was
read since; those that come after it are newer than this one, and what is ended are older ones.
"""

from __future__ import annotations

from time import monotonic

from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError
from queuepool.models.places import LEGACY, new_place, partition_at
from queuepool.partitions.partition import Partition
from queuepool.routing.views import View
from queuepool.servers import Bell, Port
from queuepool.verbs.owner.replies import asker_at


class Whereabouts:
    """The places that a consumer of one worker pool calls."""

    def __init__(self, pool: QueuePool, worker_pool: str) -> None:
        self._pool, self._worker_pool = pool, worker_pool
        self._called: Partition | None = None
        self._owned: Partition | None = None
        self._since_s = 0.0

    def place(self, number: int) -> Partition:
        """Return a partition; the one that is owned here where it was acquired.

        Raises ConfigurationError for one that there is not, and was not at the last call.
        """
        if self._owned is not None and self._owned.number == number:
            return self._owned
        try:
            self._called = self._pool.partition(number, self._worker_pool)
        except ConfigurationError:
            if self._called is None or self._called.number != number:
                raise
        return self._called

    def server_of(self, number: int) -> Port | None:
        """Return the server that a partition is called on; None if there is no such partition."""
        if self._owned is not None and self._owned.number == number:
            return self._owned.server
        try:
            return self._pool.partition(number, self._worker_pool).server
        except ConfigurationError:
            return None

    def acquire(self, number: int) -> tuple[Bell, str]:
        """Note that a partition is owned from now on.

        Returns what wakes its owner, and the name of the server that it was acquired on.
        """
        called = self._called  # the one that was acquired just now
        if called is None or called.number != number:
            called = self.place(number)
        self._owned, self._since_s = called, monotonic()
        return called.server.doorbell(called.key), called.at

    def askers_elsewhere(self) -> list[int | str] | None:
        """Return how homes of limits may know owners of the partition that have ended elsewhere.

        None until the route was read since the partition was acquired.
        """
        owned, read_s = self._owned, self._pool.route.state.read_s
        if owned is None:
            return []
        if read_s < self._since_s:
            return None
        view = self._pool.config.topology.view
        return askers_elsewhere(view, owned.number, owned.pool, owned.at)

    def leave(self) -> None:
        """Note that no partition is owned any more."""
        self._owned = None

    def has_moved(self) -> bool:
        """Return whether the partition that is owned here is on another server by now."""
        owned = self._owned
        if owned is None:
            return False
        try:
            now = self._pool.partition(owned.number, self._worker_pool)
        except ConfigurationError:  # there is no such partition any more
            return False
        return now.server is not owned.server


def askers_elsewhere(view: View, partition: int, pool: str, server: str) -> list[int | str]:
    """Return how homes of limits may know owners, by now ended, of a partition's other places.

    server: of the place that has an owner now. While the partition moves, its other place may have
    one that runs jobs, so there are none; nor for an owner that was left behind. After that none of
    its jobs runs elsewhere. The names without a server are those of owners of earlier releases.
    """
    number = partition_at(partition)
    if number in view.leaving or (number != LEGACY and server not in view.placement[number:][:1]):
        return []
    former = {at for place, at in view.former.servers.items() if partition_at(place) == number}
    servers = {*former, view.firsts.get(number, server)} - {server}
    earlier = [asker_at(n, pool, "") for n in (number, new_place(number))]
    return [*(asker_at(number, pool, at) for at in sorted(servers)), *earlier]
