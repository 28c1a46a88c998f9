"""The limits of a queue, asked from a coordinator as from the servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from queuepool.models import Limit, LimitStatus
from queuepool.rpc.acting import reason

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

_PAGE = 200


class LimitsOfQueue(Protocol):
    """What commands need of limits; `pool.limits` has it."""

    def list(self) -> Iterator[LimitStatus]:
        """Iterate over all limits."""

    def get(self, name: str) -> LimitStatus | None:
        """Return one limit, None if it is unknown."""

    def set(self, limit: Limit) -> bool:
        """Define a limit."""

    def pause(self, name: str) -> bool:
        """Pause a limit."""

    def resume(self, name: str) -> bool:
        """End a pause."""

    def remove(self, name: str) -> bool:
        """Forget what people set."""


class CoordinatorLimits:
    """Asks a coordinator, which audits who asked."""

    def __init__(self, client: QueuePoolClient) -> None:
        self._client = client

    def list(self) -> Iterator[LimitStatus]:
        """Iterate over all limits, reading them a page at a time."""
        token = ""
        while True:
            page, token = self._page("", token)
            yield from page
            if not token:
                return

    def get(self, name: str) -> LimitStatus | None:
        """Return one limit, None if it is unknown."""
        page, _ = self._page(name, "")
        return next(page, None)

    def _page(self, name: str, token: str) -> tuple[Iterator[LimitStatus], str]:
        from queuepool.rpc.limits import status_of
        from queuepool.rpc.v1 import queue_pool_pb2 as api

        request = api.ListLimitsRequest(name=name, page_size=_PAGE, page_token=token)
        answer = self._client.ListLimits(request)
        return map(status_of, answer.limits), answer.next_page_token

    def set(self, limit: Limit) -> bool:
        """Define a limit."""
        from queuepool.rpc.limits import definition_of
        from queuepool.rpc.v1 import queue_pool_pb2 as api

        request = api.SetLimitRequest(
            limit=limit.name, definition=definition_of(limit), reason=reason()
        )
        return self._client.SetLimit(request).changed

    def pause(self, name: str) -> bool:
        """Pause a limit."""
        return self._switch(name, on=True)

    def resume(self, name: str) -> bool:
        """End a pause."""
        return self._switch(name, on=False)

    def _switch(self, name: str, *, on: bool) -> bool:
        from queuepool.rpc.v1 import queue_pool_pb2 as api

        request = api.PauseLimitRequest(limit=name, paused=on, reason=reason())
        return self._client.PauseLimit(request).changed

    def remove(self, name: str) -> bool:
        """Forget what people set."""
        from queuepool.rpc.v1 import queue_pool_pb2 as api

        request = api.RemoveLimitRequest(limit=name, reason=reason())
        return self._client.RemoveLimit(request).changed
