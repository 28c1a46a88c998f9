"""What other groups notice while a queue gets more partitions, and fewer again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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

    `stay` is of the groups whose slots do not move meanwhile, about half of them. `to_none`
    compares with no move, by turns, since a machine's load changes.
    """
    none, during = _Waits(), _Waits()
    took_s = list[float]()
    with rig(_FIRST, roaming=_MOST) as r, coordinating(r.server.url, _FIRST):
        group = r.pool.group("big")
        r.pool.enqueue_many("begin", [{"t": 0.0}] * jobs, partition_key="big")
        group.hold()
        for _ in range(_ROUNDS):
            without = _waits(r)
            homes = [_homes(r.pool)]
            with _moves(r, (_MOST, _LAST), after_s=_SETTLE_S) as moved:
                beside = _waits(r)
            took_s += moved.took_s
            homes += moved.homes
            stay = {key for key in _KEYS if len({at[key] for at in homes}) == 1}
            none.add(without, stay)
            during.add(beside, stay)
            with _moves(r, (_FIRST,), after_s=0.0):
                pass
    return {
        "moves_s[8 to 12]": max(took_s[::2]),
        "moves_s[12 to 6]": max(took_s[1::2]),
        "others_start_p99_ms[no move]": quantile(none.all, 0.99),
        "others_start_p99_ms[moves]": quantile(during.all, 0.99),
        "others_start_p99_to_none": quantile(during.all, 0.99) / quantile(none.all, 0.99),
        "stay_start_p99_ms[no move]": quantile(none.stay, 0.99),
        "stay_start_p99_ms[moves]": quantile(during.stay, 0.99),
        "stay_start_p99_to_none": quantile(during.stay, 0.99) / quantile(none.stay, 0.99),
    }


@dataclass
class _Waits:
    """Ms from call to start. stay: of groups whose slots do not move."""

    all: list[float] = field(default_factory=list)
    stay: list[float] = field(default_factory=list)

    def add(self, found: Sequence[tuple[str, float]], stay: Collection[str]) -> None:
        self.all += [waited for _, waited in found]
        self.stay += [waited for key, waited in found if key in stay]


@dataclass
class _Moved:
    """What moves took, and where each key was after each of them."""

    took_s: list[float] = field(default_factory=list)
    homes: list[Mapping[str, int]] = field(default_factory=list)


def _waits(r: Rig) -> list[tuple[str, float]]:
    r.pool.route.follow()
    return starts.by_key(
        r, _STARTS, gap_s=lambda: _BATCH / _PER_S, ms=0.0, workers=8, keys=_KEYS, batch=_BATCH
    )


def _homes(pool: QueuePool) -> Mapping[str, int]:
    pool.route.follow()
    return {key: pool.group(key).partition.number for key in _KEYS}


@contextmanager
def _moves(r: Rig, counts: tuple[int, ...], *, after_s: float) -> Iterator[_Moved]:
    """Have so many partitions, one after the other, in a process of its own; yield what it found.

    In this one it would delay the calls that are measured. after_s: once consumers run.
    """
    moved = _Moved()
    with apart(_move, r.server.url, counts, after_s) as here:
        yield moved
        moved.took_s, moved.homes = answered(here)


def _move(url: str, counts: tuple[int, ...], after_s: float, told: Connection) -> None:
    took_s, homes = list[float](), list[Mapping[str, int]]()
    sleep(after_s)
    with QueuePool(url, partitions=_FIRST) as pool:
        moves = Moves(pool)
        for count in counts:
            began = monotonic()
            moves.set_partitions(count)
            while moves.facts().under_way is not None:
                sleep(_LOOK_S)
            took_s.append(monotonic() - began)
            homes.append(_homes(pool))
    told.send((took_s, homes))
