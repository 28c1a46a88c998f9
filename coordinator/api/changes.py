"""Wakes those who wait on an event loop for what changes next."""

from __future__ import annotations

import asyncio

from coordinator.snapshots.store import SnapshotStore


class Changes:
    """Lives on one event loop. To miss nothing: take `following`, look, then wait for it."""

    def __init__(self) -> None:
        self.following = asyncio.Event()

    def note(self) -> None:
        """Wake all who wait; those who come later wait for the next change."""
        self.following.set()
        self.following = asyncio.Event()


class SnapshotChanges(Changes):
    """The same for the snapshots of a store, which another thread publishes."""

    def __init__(self, store: SnapshotStore) -> None:
        super().__init__()
        self._event_loop = asyncio.get_running_loop()
        store.watch(self._note_from_outside)

    def _note_from_outside(self) -> None:
        if not self._event_loop.is_closed():
            self._event_loop.call_soon_threadsafe(self.note)
