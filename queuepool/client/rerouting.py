"""Chunks whose partition answered MOVED: where their jobs go by a newer route. Pure.

A chunk has the jobs of several groups, which may part. The jobs of each group keep their order, and
each job what is known about it: its id, its position, whether it may be in. What may be in at the
old partition comes to the new one with everything else of its slot, so the new one recognises it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queuepool.client.chunks import Chunk
from queuepool.protocol import codec
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig

_WISH = 5  # words: the place of a job in the call, and what it wishes


def rerouted(
    chunk: Chunk, config: PoolConfig, view: View, stored: frozenset[bytes] = frozenset()
) -> list[Chunk]:
    """Return the jobs of a chunk as chunks by this view: first those that can be sent now.

    stored: ids that need not be sent.
    """
    places, found = config.of(chunk.pool).keyspace, dict[tuple[int, int], Chunk]()
    wishes: dict[Any, Any] = {
        chunk.wishes[i]: tuple(chunk.wishes[i + 1 : i + _WISH])
        for i in range(0, len(chunk.wishes), _WISH)
    }
    for place, (run, job_id, tail) in enumerate(_jobs(chunk)):
        if job_id in stored:
            continue
        slot = codec.slot_of_tail(tail)
        where = view.partition_of(slot), view.version_for(slot)
        part = found.get(where)
        if part is None:
            part = found[where] = Chunk(where[0], places.partition(where[0]), pool=chunk.pool)
            part.version, part.since, part.taken = where[1], view.version, True
            part.sent_s, part.unanswered_since_s = chunk.sent_s, chunk.unanswered_since_s
            part.asked = chunk.asked
        part.add(run, job_id, tail, wishes.get(place + 1))
        part.positions.append(chunk.positions[place])
        if job_id in chunk.chosen:
            part.chosen.add(job_id)
    return sorted(found.values(), key=lambda part: part.version == 0)


def waits(chunk: Chunk, view: View) -> bool:
    """Return whether all jobs of a chunk are of slots that are on their way."""
    moving = view.moving
    return bool(moving) and all(codec.slot_of_tail(tail) in moving for _, _, tail in _jobs(chunk))


def slots_of(chunk: Chunk) -> Iterator[tuple[bytes, int]]:
    """Yield the id of each job, and its slot."""
    return ((job_id, codec.slot_of_tail(tail)) for _, job_id, tail in _jobs(chunk))


def _jobs(chunk: Chunk) -> Iterator[tuple[tuple[Any, ...], bytes, bytes]]:
    runs: list[Any] = chunk.runs
    i = 0
    while i < len(runs):
        first, after = i + 4, i + 4 + 2 * runs[i + 3]
        for k in range(first, after, 2):
            yield tuple(runs[i : i + 3]), runs[k], runs[k + 1]
        i = after
