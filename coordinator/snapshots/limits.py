"""The limits that a coordinator last saw, for its metrics."""

from __future__ import annotations

from queuepool.models import LimitStatus


class LimitBoard:
    """The latest limits. One thread replaces them, any thread reads; each tuple stays as it is."""

    def __init__(self) -> None:
        self.seen: tuple[LimitStatus, ...] = ()
