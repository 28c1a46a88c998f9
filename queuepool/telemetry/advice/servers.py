"""Which partitions are to go to another server, and whether more partitions help. Pure.

A server runs scripts on one thread: from FULL of its time on, calls wait for one another. Its
memory is short when more than FULL of it is used, or it will be within SOON_S at its growth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from queuepool.models.advice import Loads, PlaceLoad, ServerLoad

FULL, COOL = 0.7, 0.4
SOON_S, FEWEST_BYTES = 86_400.0, 64 * 2**20  # growth of what is nearly empty is no trend
BUSY, WAITING, WAIT_S = 0.9, 0.75, 60.0


@dataclass(frozen=True, slots=True)
class Crowded:
    """A server with too much to do, or to keep. numbers: partitions that are to leave it.

    dest: where to; None: all others have as much, or there is none. share: of its jobs, or bytes,
    that these partitions have. full_s: until its memory is full at its growth; None: it is its
    time that is short.
    """

    server: ServerLoad
    numbers: tuple[int, ...]
    dest: str | None
    share: float
    full_s: float | None


def crowded(loads: Loads) -> Iterator[Crowded]:
    """Return the servers that partitions are to leave."""
    for server in loads.servers:
        full_s, is_busy = _full_s(server), server.cpu is not None and server.cpu >= FULL
        if not is_busy and full_s is None:
            continue
        here = [place for place in loads.places if place.partition in server.partitions]
        weights = {p.partition: p.came + p.ended if is_busy else float(p.bytes) for p in here}
        numbers = _half(weights)
        if numbers:
            share = sum(weights[n] for n in numbers) / sum(weights.values())
            dest = _cool(loads, server, is_busy=is_busy)
            yield Crowded(server, numbers, dest, share, None if is_busy else full_s)


def short_of_processes(loads: Loads) -> list[PlaceLoad]:
    """Return the partitions where jobs wait though all workers are busy and more did not help.

    Empty unless these are nearly all, and servers have time left: then one process a partition is
    too few.
    """
    found = [
        place
        for place in loads.places
        if place.stuck and place.wait_s >= WAIT_S and place.busy >= BUSY * place.workers > 0
    ]
    is_calm = all(server.cpu is None or server.cpu < FULL for server in loads.servers)
    return found if found and is_calm and len(found) >= WAITING * len(loads.places) else []


def _full_s(server: ServerLoad) -> float | None:
    """Return in how many seconds the memory is full; None: it is not short."""
    if not server.limit or server.used < FEWEST_BYTES:
        return None
    left = max(0, server.limit - server.used)
    until_s = left / server.growth if server.growth > 0 else None
    if until_s is not None and until_s <= SOON_S and server.used >= COOL * server.limit:
        return until_s
    return (until_s or float("inf")) if server.used >= FULL * server.limit else None


def _half(weights: dict[int, float]) -> tuple[int, ...]:
    """Return the fewest partitions that have about half of the weight; never all of them."""
    total, taken, numbers = sum(weights.values()), 0.0, list[int]()
    for number, weight in sorted(weights.items(), key=lambda one: (-one[1], one[0])):
        if weight > 0 and taken + weight <= 0.6 * total and taken < 0.4 * total:
            numbers.append(number)
            taken += weight
    return tuple(sorted(numbers))


def _cool(loads: Loads, hot: ServerLoad, *, is_busy: bool) -> str | None:
    """Return a server that has much less to do, or to keep; one without partitions first."""
    if loads.spare:
        return loads.spare[0]
    others: Sequence[ServerLoad] = [one for one in loads.servers if one.name != hot.name]
    fit = [one for one in others if _filled(one, is_busy=is_busy) <= COOL]
    return min(fit, key=lambda one: _filled(one, is_busy=is_busy)).name if fit else None


def _filled(server: ServerLoad, *, is_busy: bool) -> float:
    if is_busy:
        return 1.0 if server.cpu is None else server.cpu
    return server.used / server.limit if server.limit else 0.0
