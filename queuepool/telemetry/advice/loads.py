"""What partitions and servers had to do of late, from one look after another. Pure.

    busy     workers with a job, at each look, on average
    wanted   jobs that came in a second x seconds a job, if that is more than `busy`: where workers
             are few, what they do says little about how much there is to do
    parts    which groups the jobs that run belong to: each look names a few, so that many looks
             tell the share of worker time of each

In memory are some numbers for each place, and at most MOST_PARTS groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from queuepool.models import PartitionState
from queuepool.models.advice import Loads, Part, PlaceLoad, ServerLoad
from queuepool.models.doctor import Running, ServerFigures
from queuepool.models.places import DEFAULT_POOL
from queuepool.telemetry.advice.averages import Average, Shares
from queuepool.telemetry.doctor.observed import Observed, Place

MOST_PARTS = 64  # groups of a partition that are counted
TOLD_PARTS = 16  # of these, the largest are told
_LEAST_MET = 30  # jobs that ran: of fewer, shares would be chance
_LONGEST_S = 60.0  # between two looks of which the first tells about the time up to the second


@dataclass(slots=True)
class _OfPlace:
    at_ms: int = 0
    enqueued: int = 0
    ended: int = 0
    bytes: int = 0
    looked_ms: int = 0
    busy: Average = field(default_factory=Average)
    came: Average = field(default_factory=Average)
    rate: Average = field(default_factory=Average)
    growth: Average = field(default_factory=Average)
    running: Shares[Running] = field(default_factory=lambda: Shares(MOST_PARTS))


@dataclass(slots=True)
class _OfServer:
    at_ms: int
    run_id: str
    cpu_s: float
    calls: int
    used: int
    cpu: Average = field(default_factory=Average)
    rate: Average = field(default_factory=Average)
    growth: Average = field(default_factory=Average)


class LoadHistory:
    """Fed with each look, it tells how load was spread of late."""

    def __init__(self) -> None:
        self._began_ms = 0
        self._places: dict[int, _OfPlace] = {}
        self._servers: dict[tuple[str, str], _OfServer] = {}

    def add(self, seen: Observed) -> Loads:
        """Take a look; return the loads. Pools of workers with a name of their own are not told."""
        self._began_ms = self._began_ms or seen.now_ms
        places = [place for place in seen.places if place.pool == DEFAULT_POOL]
        loads = tuple(
            self._place(place, place.state, seen.now_ms) for place in places if place.state
        )
        for gone in self._places.keys() - {place.partition for place in places}:
            del self._places[gone]
        answering = [server for server in seen.servers if not server.problem]
        servers = tuple(self._server(server, places, seen.now_ms) for server in answering)
        for lost in self._servers.keys() - {(one.name, one.run_id) for one in answering}:
            del self._servers[lost]
        over_s = max(0.0, (seen.now_ms - self._began_ms) / 1000)
        silent = {server.name: server.problem for server in seen.servers if server.problem}
        return Loads(over_s=over_s, places=loads, servers=servers, spare=seen.spare, silent=silent)

    def _place(self, place: Place, state: PartitionState, now_ms: int) -> PlaceLoad:
        known = self._places.setdefault(place.partition, _OfPlace())
        owner, count = state.owner, state.counters.get
        enqueued = count("enqueued", 0) + count("replayed", 0) + count("retried", 0)
        ended = count("done", 0) + count("died", 0) + count("retried", 0)
        passed_s, looked = (now_ms - known.at_ms) / 1000, place.checkup
        workers = owner.workers if owner is not None and owner.lease_ms > 0 else 0
        if known.at_ms and 0 < passed_s <= _LONGEST_S:
            known.busy.add(min(owner.busy, workers) if owner is not None else 0, passed_s)
            known.came.add(max(0, enqueued - known.enqueued) / passed_s, passed_s)
            known.rate.add(max(0, ended - known.ended) / passed_s, passed_s)
            known.growth.add((state.bytes - known.bytes) / passed_s, passed_s)
        if looked is not None and looked.now_ms != known.looked_ms:  # not the one of last time
            over_s = min(max(0.0, (looked.now_ms - known.looked_ms) / 1000), _LONGEST_S)
            known.running.add(looked.sample, over_s)
            known.looked_ms = looked.now_ms
        known.at_ms, known.enqueued, known.ended = now_ms, enqueued, ended
        known.bytes = state.bytes
        return PlaceLoad(
            partition=place.partition,
            server=place.server,
            workers=workers,
            busy=known.busy.mean,
            wanted=max(known.busy.mean, known.came.mean * place.service_s),
            came=known.came.mean,
            ended=known.rate.mean,
            wait_s=max(0, state.oldest_ms) / 1000,
            backlog=state.backlog,
            bytes=state.bytes,
            growth=known.growth.mean,
            parts=_parts(known.running),
            stuck="gain_check" in place.clamps,
        )

    def _server(self, server: ServerFigures, places: list[Place], now_ms: int) -> ServerLoad:
        key = (server.name, server.run_id)
        now = _OfServer(now_ms, server.run_id, server.cpu_s, server.calls, server.used)
        last = self._servers.get(key, now)
        now.cpu, now.rate, now.growth = last.cpu, last.rate, last.growth
        self._servers[key] = now
        passed_s = (now_ms - last.at_ms) / 1000
        if 0 < passed_s <= _LONGEST_S:
            now.cpu.add(max(0.0, now.cpu_s - last.cpu_s) / passed_s, passed_s)
            now.rate.add(max(0, now.calls - last.calls) / passed_s, passed_s)
            now.growth.add((now.used - last.used) / passed_s, passed_s)
        return ServerLoad(
            name=server.name,
            cpu=now.cpu.mean if server.cpu_s and not server.clustered else None,
            calls=now.rate.mean,
            used=server.used,
            limit=server.limit,
            growth=now.growth.mean,
            partitions=tuple(one.partition for one in places if one.server == server.name),
        )


def _parts(running: Shares[Running]) -> tuple[Part, ...]:
    if running.met < _LEAST_MET:
        return ()
    found = list(running.shares().items())[:TOLD_PARTS]
    return tuple(Part(one.slot, one.group, share) for one, share in found)
