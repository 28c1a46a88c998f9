"""What other groups notice while a queue gets more partitions, and fewer again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from time import monotonic, sleep

from benchmarks import starts
from benchmarks.apart import answered, apart
from benchmarks.rig import Rig, quantile, rig
from benchmarks.scale.processes import coordinating
from queuepool import QueuePool
from queuepool.cli.inspection.moving import Moves

_FIRST, _MOST, _LAST = 8, 12, 6  # partitions; as many consumers as there are at most
_KEYS = [f"other-{n}" for n in range(200)]
_ROUNDS, _STARTS, _PER_S, _BATCH = 4, 30_000, 2_000, 20  # starts of each half of a round
_SETTLE_S, _LOOK_S = 4.0, 0.05


def repartitioning(jobs: int) -> dict[str, float]:
    """Go from 8 to 12 to 6 partitions while jobs of 200 groups start; one more has so many jobs.

    `to_none` compares with no move, by turns, since a machine's load changes.
    """
    none, during, took_s = list[float](), list[float](), list[float]()
    with rig(_FIRST, roaming=_MOST) as r, coordinating(r.server.url, _FIRST):
        group = r.pool.group("big")
        r.pool.enqueue_many("begin", [{"t": 0.0}] * jobs, partition_key="big")
        group.hold()
        for _ in range(_ROUNDS):
            none += _waits(r)
            with _moves(r, (_MOST, _LAST), after_s=_SETTLE_S) as moves_s:
                during += _waits(r)
            took_s += moves_s
            with _moves(r, (_FIRST,), after_s=0.0):
                pass
    return {
        "moves_s[8 to 12]": max(took_s[::2]),
        "moves_s[12 to 6]": max(took_s[1::2]),
        "others_start_p99_ms[no move]": quantile(none, 0.99),
        "others_start_p99_ms[moves]": quantile(during, 0.99),
        "others_start_p99_to_none": quantile(during, 0.99) / quantile(none, 0.99),
    }


def _waits(r: Rig) -> list[float]:
    r.pool.route.follow()
    return starts.measure(r, _STARTS, gap_s=lambda: _BATCH / _PER_S, keys=_KEYS, batch=_BATCH)


@contextmanager
def _moves(r: Rig, counts: tuple[int, ...], *, after_s: float) -> Iterator[list[float]]:
    """Have so many partitions, one after the other, in a process of its own; yield what it took.

    In this one it would delay the calls that are measured. after_s: once consumers run.
    """
    took_s = list[float]()
    with apart(_move, r.server.url, counts, after_s) as here:
        yield took_s
        took_s += answered(here)


def _move(url: str, counts: tuple[int, ...], after_s: float, told: Connection) -> None:
    took_s = []
    sleep(after_s)
    with QueuePool(url, partitions=_FIRST) as pool:
        moves = Moves(pool)
        for count in counts:
            began = monotonic()
            moves.set_partitions(count)
            while moves.facts().under_way is not None:
                sleep(_LOOK_S)
            took_s.append(monotonic() - began)
    told.send(took_s)
