"""Queues of a size that nobody waits for: filled by several processes, without consumers.

Run by itself, this is one of the processes: `python -m benchmarks.scale.filling enqueue 0 1000 10`
enqueues jobs 0 to 999 with QUEUEPOOL_URL, 10 of each group; `bury 3` buries all of partition 3.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.owners import take_over
from benchmarks.rig import Rig
from queuepool import Job, QueuePool
from queuepool.models import ErrorRecord
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol.codec import encode_error
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own

TASK, ERRORS = "noop", ("ValueError", "KeyError", "TimeoutError", "ConnectionError")
RARE = 10_000  # one job in so many dies of an error of its own, and has a task of its own
_PROCESSES, _CLAIM, _ALL = 2, 200, 2**31 - 1


def ready(r: Rig, jobs: int, of_a_group: int) -> None:
    """Enqueue jobs, so many of each group, from several processes at once."""
    each = -(-jobs // _PROCESSES // of_a_group) * of_a_group
    _at_once(r, [
        ["enqueue", str(begin), str(min(begin + each, jobs)), str(of_a_group)]
        for begin in range(0, jobs, each)
    ])  # fmt: skip


def dead(r: Rig, jobs: int, of_a_group: int) -> None:
    """Let jobs die, so many of each group."""
    ready(r, jobs, of_a_group)
    numbers = [p.number for p in r.pool.partitions()]
    for some in range(0, len(numbers), _PROCESSES):
        _at_once(r, [["bury", str(number)] for number in numbers[some : some + _PROCESSES]])


def _at_once(r: Rig, commands: list[list[str]]) -> None:
    environment = os.environ | {
        "QUEUEPOOL_URL": r.server.url,
        "QUEUEPOOL_PARTITIONS": str(len(r.pool.partitions())),
    }
    begun = [
        subprocess.Popen([sys.executable, "-m", __name__, *words], env=environment)
        for words in commands
    ]
    codes = [process.wait() for process in begun]
    if any(codes):
        raise RuntimeError("a process that fills the queue failed")


def _jobs(begin: int, end: int, of_a_group: int) -> Iterator[Job[Any]]:
    for n in range(begin, end):
        yield Job({"i": n}, partition_key=f"g{n // of_a_group}")


def _bury(owned: OwnedPartition) -> None:
    """Claim and bury until nothing is ready; each round trip buries what the last one claimed."""
    begun: list[Verb[Any]] = []
    while True:
        claim = own.claim(
            owned.ownership, _CLAIM, starting=_CLAIM, promote_after_ms=0, weights=(6, 3, 2, 1)
        )
        verbs = [*begun, claim]
        claimed = claim.read(owned.turn(verbs)[-1])
        if not claimed.ids:
            return
        errors = [(job, _error(job)) for job in claimed.ids]
        begun = [own.bury(owned.ownership, errors, keep_jobs=_ALL, keep_bytes=2**40, keep_ms=_ALL)]


def _error(job_id: bytes) -> bytes:
    n = hash(job_id)
    kind = "RareError" if n % RARE == 0 else ERRORS[n % len(ERRORS)]
    return encode_error(
        ErrorRecord(
            reason="failed", type=kind, message=f"host {n % 1000} did not answer", traceback=""
        )
    )


def _main(what: str, *words: str) -> None:
    with QueuePool.from_env() as pool:
        if what == "enqueue":
            pool.enqueue_many(TASK, _jobs(*map(int, words)), results="failures")
        else:
            _bury(take_over(pool.partitions()[int(words[0])]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
