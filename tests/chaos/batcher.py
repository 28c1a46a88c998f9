"""A producer of batches: enqueues one after another, each with a job that adds up what it returned.

    python -m tests.chaos.batcher '{"size": 20, "pause_s": 0.2, "until": "enough"}'

Where the jobs go comes from QUEUEPOOL_* variables, the files of events from TEST_RECORDS. A call
that was not answered is repeated with its batch_id until it is, or the batch has concluded; only
then there is a line in the file `batches`.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from queuepool import After, InvalidInputError, Job, QueuePool
from queuepool.errors import UnavailableError
from tests.apps.recorded import DIRECTORY, note

_KEYS = 7  # of the jobs of a batch: they are in several partitions


def main() -> int:
    """Enqueue batches until there is such a file; returns 0."""
    options = json.loads(sys.argv[1])
    pause, until = threading.Event(), DIRECTORY / options["until"]
    with QueuePool.from_env() as pool, (DIRECTORY / "batches").open("a") as known:
        for number in count():
            if until.exists():
                return 0
            while not _enqueued(pool, f"batch-{number}", options["size"]):
                pause.wait(0.05)
            known.write(f"batch-{number}\n")
            known.flush()
            pause.wait(options["pause_s"])
    raise AssertionError("there are always more numbers")


def _enqueued(pool: QueuePool, name: str, size: int) -> bool:
    jobs = [Job({"n": n}, partition_key=f"{name}-{n % _KEYS}") for n in range(size)]
    then = After("chaos_sum", {"of": name}, partition_key=name, batch_id=name)
    try:
        made = pool.enqueue_many("chaos_part", jobs, then=then)
    except UnavailableError:
        return False
    except InvalidInputError as error:  # it has concluded, so that all of it was there
        if "concluded" not in str(error):
            raise
        return True
    for one in made:
        note("accept", one.job_id, 0)
    return True


def names(directory: Path) -> set[str]:
    """Return the batches that were enqueued."""
    return set((directory / "batches").read_text().split())


def sums(directory: Path) -> dict[str, list[tuple[str, int, int]]]:
    """Return (job id, results, their sum) of each run of a job that continued a batch."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    for path in directory.glob("sums-*"):
        for line in path.read_text().splitlines():
            name, job_id, results, total = line.split()
            found.setdefault(name, []).append((job_id, int(results), int(total)))
    return found


def disagreement(directory: Path, size: int) -> list[str]:
    """Return what is wrong with the sums, in a sentence each: none, a wrong one, or two jobs."""
    summed, right = sums(directory), (size, sum(range(size)))
    said = []
    for name in sorted(names(directory)):
        seen = summed.get(name, [])
        if not seen:
            said.append(f"{name}: its jobs have ended, and nothing continued it")
        if len({job_id for job_id, _, _ in seen}) > 1:
            said.append(f"{name}: continued by several jobs: {seen}")
        if wrong := [one for one in seen if one[1:] != right]:
            said.append(f"{name}: {wrong}, of {size} jobs that add up to {right[1]}")
    return said


def note_sum(name: str, job_id: str, results: Sequence[int]) -> None:
    """Append one line to this process's own file of sums, in one write."""
    line = f"{name} {job_id} {len(results)} {sum(results)}\n"
    file = os.open(DIRECTORY / f"sums-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


if __name__ == "__main__":
    sys.exit(main())
