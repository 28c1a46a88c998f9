"""Reading the files of events that processes leave; see tests/apps/recorded.py for a line."""

from collections.abc import Iterator
from pathlib import Path

from tests.chaos.checker import Events, Run


def read_events(directory: Path) -> Events:
    """Return what all processes noted in a directory."""
    accepted: dict[str, int] = {}
    runs: list[Run] = []
    for path in directory.glob("records-*"):
        pid = int(path.name.partition("-")[2])
        open_runs: dict[tuple[str, int], list[int]] = {}
        for what, job_id, attempt, ns in _lines(path):
            begun = open_runs.setdefault((job_id, attempt), [])
            if what == "accept":
                accepted[job_id] = min(ns, accepted.get(job_id, ns))
            elif what == "begin":
                begun.append(ns)
            elif what in ("end", "fail"):
                runs.append(Run(job_id, pid, attempt, begun.pop(0), ns, failed=what == "fail"))
            else:
                raise ValueError(f"{path}: {what!r} is neither accept, begin, end nor fail")
        for (job_id, n), begun in open_runs.items():  # those that raised, or were cut short
            runs += [Run(job_id, pid, n, ns, None) for ns in begun]
    return Events(accepted, sorted(runs, key=lambda run: run.began_ns))


def _lines(path: Path) -> Iterator[tuple[str, str, int, int]]:
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):  # else it is being written
            what, job_id, attempt, ns = line.split()
            yield what, job_id, int(attempt), int(ns)
