"""Sends the cycles of a leader as lines of a recording, to one caller at its own pace."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from functools import partial

from coordinator.api.operators import Operators
from coordinator.core.model import Snapshot
from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.recording import Recorder
from coordinator.snapshots.cycles import CycleFeed
from coordinator.snapshots.store import SnapshotStore
from queuepool import __version__
from queuepool.errors import QueuePoolError
from queuepool.models.places import DEFAULT_POOL
from queuepool.rpc.v1 import queue_pool_pb2 as api

_LOOK_S = 0.5
_GRACE_S = 3.0  # without a leader: this process may be in its first turn, or about to lead again
_MOST_BYTES = 1 << 20  # of a message, unless one line is longer; a caller takes 4 MiB


class NotLeadingError(QueuePoolError):
    """Only a leader decides, so only it has cycles to record."""

    def __init__(self, leader: str, pool: str = DEFAULT_POOL) -> None:
        where = f": ask the leader, {leader}" if leader else "; nobody does"
        what = "" if pool == DEFAULT_POOL else f" pool {pool}"
        super().__init__(f"this coordinator does not lead{what}{where}")


class TooManyFollowersError(QueuePoolError):
    """Enough others follow the cycles."""

    def __init__(self) -> None:
        super().__init__("too many recordings are running; stop one of them")


async def _wait(woken: asyncio.Event, longest_s: float) -> None:
    woken.clear()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(woken.wait(), longest_s)


async def recorded(
    feed: CycleFeed,
    store: SnapshotStore,
    operators: Operators,
    *,
    for_s: float,
    pool: str = DEFAULT_POOL,
) -> AsyncGenerator[api.RecordResponse, None]:
    """Yield what follows in the recording, while this process leads, for at most this long.

    Raises NotLeadingError, TooManyFollowersError.
    """
    here, woken = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        if not here.is_closed():
            here.call_soon_threadsafe(woken.set)

    follower = feed.follow(wake)
    if follower is None:
        raise TooManyFollowersError
    recorder, taken_s = Recorder(__version__, pool), time.monotonic()
    end_s = taken_s + for_s
    try:
        while time.monotonic() < end_s:
            cycle = follower.take()
            if cycle is None:
                idle_s = time.monotonic() - taken_s
                if not store.snapshot.leading and (_is_led(store.snapshot) or idle_s > _GRACE_S):
                    raise NotLeadingError(store.snapshot.leader_address, pool)
                await _wait(woken, min(_LOOK_S, for_s))
                continue
            taken_s = time.monotonic()
            missed, follower.missed = follower.missed, 0
            lines = await operators.off_loop(partial(_lines, recorder, cycle))
            for last, part in _parts(lines):
                yield api.RecordResponse(lines=part, cycles=int(last), missed=missed)
                missed = 0
    finally:
        feed.leave(follower)


def _is_led(snapshot: Snapshot) -> bool:
    """Return whether another coordinator leads."""
    return snapshot.leader_known and snapshot.leader_lease_ms > 0 and not snapshot.leading


def _lines(recorder: Recorder, cycle: Cycle) -> list[bytes]:
    return list(recorder.lines(cycle))


def _parts(lines: Iterable[bytes]) -> Iterator[tuple[bool, bytes]]:
    """Yield (whether it is the last, whole lines) in messages of a bounded size."""
    waiting, size = list[bytes](), 0
    for line in lines:
        if waiting and size + len(line) > _MOST_BYTES:
            yield False, b"".join(waiting)
            waiting, size = [], 0
        waiting.append(line)
        size += len(line)
    yield True, b"".join(waiting)
