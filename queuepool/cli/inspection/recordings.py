"""Where the lines of a recording come from: a leading coordinator, or the servers alone.

A recording that has begun outlives its leader: the next one is looked for, at the address that the
user named and on the servers. Its first lines are a head and a state, so the cycles join.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from queuepool import __version__
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.coordinators import connect, translated
from queuepool.cli.inspection.pools import check_known, leader_of, open_pool
from queuepool.errors import QueuePoolError
from queuepool.models.places import DEFAULT_POOL, pool_field
from queuepool.settings.endpoints import Endpoint, find_coordinator

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

# By its name: the library imports no coordinator.
# How long a recording waits for a leader, and until it looks for one again.
LEADERLESS_S, _AGAIN_S = 30.0, 0.5
_RECORDING, _OBSERVING = "coordinator.core.replay.recording", "coordinator.loop.observing"


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines. missed: cycles that were left out before them."""

    lines: bytes
    cycles: int
    missed: int = 0


def end_line() -> Callable[[str], bytes]:
    """Return what makes the last line of a recording, of its reason."""
    made: Callable[[str], bytes] = import_module(_RECORDING).end_line
    return made


def from_coordinator(
    given: str | None, stopping: threading.Event, pool: str = DEFAULT_POOL
) -> Iterator[Part] | None:
    """Return what a coordinator sends until it is stopped; None if none is known or responds.

    given: the address that the user named, which must respond. A coordinator that does not lead
    names the leader in a CommandError.
    """
    endpoint = find_coordinator(given)
    if endpoint is None:
        return None
    parts = _streamed(endpoint, stopping, pool)
    try:
        first = next(parts, None)
    except CommandError as error:
        if given is not None or error.code is not Exit.UNAVAILABLE:
            raise
        return None
    return _with_first(first, parts)


def _with_first(first: Part | None, parts: Iterator[Part]) -> Iterator[Part]:
    if first is not None:
        yield first
        yield from parts


def _streamed(named: Endpoint, stopping: threading.Event, pool: str) -> Iterator[Part]:
    endpoint, last_s = named, None
    while not stopping.is_set():
        try:
            with connect(endpoint) as client:
                while not stopping.is_set():  # a stream ends after an hour, and is opened again
                    for part in _stream(client, endpoint.address, stopping, pool):
                        last_s = time.monotonic()
                        yield part
        except CommandError as error:
            if last_s is None:
                raise
            if time.monotonic() - last_s > LEADERLESS_S:
                why = f"no leader has responded for {LEADERLESS_S:.0f} s: {error}"
                raise CommandError(why, Exit.UNAVAILABLE) from error
            stopping.wait(_AGAIN_S)
            endpoint = _leader_now(named, pool)


def _leader_now(named: Endpoint, pool: str) -> Endpoint:
    """Return who leads, as a coordinator or the servers know; the named one if nobody knows.

    The token is only for the named one.
    """
    address = _leader_by(named, pool) or _leader_on_servers(pool) or named.address
    return named if address == named.address else Endpoint(address, None)


def _leader_by(endpoint: Endpoint, pool: str) -> str:
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    try:
        with connect(endpoint) as client, translated(endpoint.address):
            leader = client.GetCluster(api.GetClusterRequest(pool=pool_field(pool))).cluster.leader
    except CommandError:
        return ""
    return endpoint.address if leader.is_me else str(leader.address)


def _leader_on_servers(pool: str) -> str:
    try:
        with open_pool() as queue:
            leader = leader_of(queue, pool)
    except QueuePoolError:
        return ""
    return leader.address if leader.lease_ms > 0 else ""


def _stream(
    client: QueuePoolClient, address: str, stopping: threading.Event, pool: str
) -> Iterator[Part]:
    from queuepool.rpc.listening import Listening, SilentError, silent_after_s
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    with translated(address):
        cluster = client.GetCluster(api.GetClusterRequest()).cluster
        listening = Listening(client.Record(api.RecordRequest(pool=pool)), stopping)
        listening.silent_s = silent_after_s(cluster.cycle_s)
        try:
            for message in listening:
                yield Part(message.lines, message.cycles, message.missed)
        except SilentError as error:
            raise CommandError(f"{address}: {error}", Exit.UNAVAILABLE) from error


def from_servers(
    cycle_s: float, stopping: threading.Event, pool: str = DEFAULT_POOL
) -> Iterator[Part]:
    """Yield what is observed on the servers, at most once in this time."""
    recorder, observing_of = _loaded(_RECORDING, "Recorder"), _loaded(_OBSERVING, "Observing")
    made = recorder(__version__, pool)
    with open_pool() as queue:
        check_known(queue, pool)
        with observing_of(queue, cycle_s, pool) as observing:
            while not stopping.is_set():
                started_s = time.monotonic()
                lines = b"".join(made.lines(observing.cycle()))
                yield Part(lines, 1)
                stopping.wait(max(started_s + cycle_s - time.monotonic(), 0.0))


def _loaded(module: str, name: str) -> Any:
    return getattr(import_module(module), name)
