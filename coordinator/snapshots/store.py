"""Where the loop publishes its snapshots, for all other threads."""

from __future__ import annotations

from collections.abc import Callable

from coordinator.core.model import Snapshot

_MAX_WATCHERS = 64


class SnapshotStore:
    """The latest snapshot. One thread publishes, any thread reads: a snapshot never changes."""

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self._watchers: tuple[Callable[[], None], ...] = ()

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot, then call every watcher; a watcher must not block or raise."""
        self.snapshot = snapshot
        for watcher in self._watchers:
            watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` after each new snapshot, on the publisher's thread."""
        if len(self._watchers) >= _MAX_WATCHERS:
            raise RuntimeError(f"more than {_MAX_WATCHERS} watchers of one store")
        self._watchers = (*self._watchers, watcher)
