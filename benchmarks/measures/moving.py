"""What a move of a slot with many jobs costs others, and producers of that slot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing.connection import Connection
from statistics import median
from threading import Event, Thread
from time import monotonic

from benchmarks import starts
from benchmarks.apart import answered, apart
from benchmarks.rig import Rig, quantile, rig
from benchmarks.scale.processes import coordinating
from queuepool import QueuePool
from queuepool.cli.inspection.moving import Moves
from queuepool.routing.slots import slot_of

_PARTITIONS = 2
_BIG, _OTHERS = "big", [f"other-{n}" for n in range(20)]
_ROUNDS, _STARTS, _PER_S = 4, 10_000, 2_000  # starts of each half of a round
_LOOK_S, _GAP_S = 0.02, 0.02  # a shorter gap would add a fifth to the slot meanwhile


@dataclass(slots=True)
class _Seen:
    moves: int = 0
    calls_s: list[float] = field(default_factory=list)


def moving(jobs: int) -> dict[str, float]:
    """Move a slot of so many waiting jobs to and fro while jobs of other slots start.

    `blocked` are enqueue calls for that slot, of which each move makes one wait. `to_none` compares
    with no move, by turns, since a machine's load changes.
    """
    none, during, seen = list[float](), list[float](), _Seen()
    with rig(_PARTITIONS) as r, coordinating(r.server.url, _PARTITIONS):
        group = r.pool.group(_BIG)
        r.pool.enqueue_many("begin", [{"t": 0.0}] * jobs, partition_key=_BIG)
        group.hold()
        for _ in range(_ROUNDS):
            none += _waits(r)
            with _moves(r, group.partition.number, seen):
                during += _waits(r)
    if not seen.moves:
        raise RuntimeError("no move ended meanwhile")
    p99_ms = quantile(during, 0.99)
    return {
        "moves": seen.moves,
        "others_start_p99_ms[no move]": quantile(none, 0.99),
        "others_start_p99_ms[moves]": p99_ms,
        "others_start_p99_to_none": p99_ms / quantile(none, 0.99),
        "blocked_ms[median]": median(sorted(seen.calls_s)[-seen.moves :]) * 1000,
        "blocked_ms[longest]": max(seen.calls_s) * 1000,
    }


def _waits(r: Rig) -> list[float]:
    return starts.measure(r, _STARTS, gap_s=lambda: 1 / _PER_S, keys=_OTHERS)


@contextmanager
def _moves(r: Rig, at: int, seen: _Seen) -> Iterator[None]:
    """Move the slot from partition to partition and back, in a process of its own.

    In this one its threads would delay the calls that are measured.
    """
    with apart(_to_and_fro, r.server.url, at) as here:
        yield
        here.send("end")
        moves, calls_s = answered(here)
    seen.moves += moves
    seen.calls_s += calls_s


def _to_and_fro(url: str, at: int, ending: Connection) -> None:
    """Move the slot, and enqueue jobs for it meanwhile, until something is sent; send what was."""
    moved, calls_s, ended = 0, list[float](), Event()
    with QueuePool(url, partitions=_PARTITIONS) as pool:

        def enqueue() -> None:
            while not ended.wait(_GAP_S):
                began = monotonic()
                pool.enqueue("begin", {"t": 0.0}, partition_key=_BIG)
                calls_s.append(monotonic() - began)

        thread = Thread(target=enqueue)
        thread.start()
        try:
            for partition in cycle((1 - at, at)):
                _move(Moves(pool), partition, ended)
                moved += 1
                if partition == at and ending.poll():
                    break
        finally:
            ended.set()
            thread.join()
    ending.send((moved, calls_s))


def _move(moves: Moves, partition: int, ended: Event) -> None:
    moves.move_slots([slot_of(_BIG.encode())], partition)
    while moves.facts().under_way is not None:
        ended.wait(_LOOK_S)
