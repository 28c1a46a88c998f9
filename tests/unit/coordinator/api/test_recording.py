"""Who is sent cycles: the callers of a leader, and of one that is about to lead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from coordinator.api import recording
from coordinator.api.recording import NotLeadingError, TooManyFollowersError, recorded
from coordinator.core.model import Snapshot
from coordinator.snapshots.cycles import MOST_FOLLOWERS, CycleFeed
from coordinator.snapshots.store import SnapshotStore
from tests.unit.coordinator.core.replay.cycles import bursty, cycles_of


class Threads:
    """Runs work at once."""

    async def off_loop(self, work: Callable[[], Any]) -> Any:
        return work()


def first(feed: CycleFeed, store: SnapshotStore, *, after: Callable[[], None]) -> Any:
    """Return the first message; `after` runs once the caller waits."""

    async def ask() -> Any:
        threads: Any = Threads()
        stream = recorded(feed, store, threads, for_s=30.0)
        asyncio.get_running_loop().call_later(0.05, after)
        try:
            return await asyncio.wait_for(anext(stream), 20)
        finally:
            await stream.aclose()

    return asyncio.run(ask())


def test_a_leader_in_its_first_turn_is_waited_for() -> None:
    feed, store = CycleFeed(), SnapshotStore()
    cycle = cycles_of(bursty(22.0, partitions=1, per_s=1.0, count=1))[0]

    message = first(feed, store, after=lambda: feed.publish(cycle))

    assert message.cycles == 1
    assert message.lines.startswith(b'["queuepool",1,')
    assert message.lines.count(b"\n") == 4


def test_where_another_leads_the_caller_is_sent_there_at_once() -> None:
    store = SnapshotStore()
    store.publish(
        Snapshot(cycle=1, leader_known=True, leader_lease_ms=900, leader_address="there:1")
    )

    with pytest.raises(NotLeadingError, match="ask the leader, there:1"):
        first(CycleFeed(), store, after=lambda: None)


def test_where_nobody_leads_the_wait_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_GRACE_S", 0.1)

    with pytest.raises(NotLeadingError, match="nobody does"):
        first(CycleFeed(), SnapshotStore(), after=lambda: None)


def test_too_many_are_refused_and_those_that_left_make_room() -> None:
    feed, store = CycleFeed(), SnapshotStore()
    others = [feed.follow(lambda: None) for _ in range(MOST_FOLLOWERS)]

    with pytest.raises(TooManyFollowersError):
        first(feed, store, after=lambda: None)
    assert others[0] is not None
    feed.leave(others[0])
    feed.leave(others[0])
    assert feed.follow(lambda: None) is not None
    assert feed.follow(lambda: None) is None
