"""The batches that were enqueued, and the sums that continued them: a file for each process."""

import os
from collections.abc import Sequence
from pathlib import Path


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
    path = Path(os.environ["TEST_RECORDS"]) / f"sums-{os.getpid()}"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)
