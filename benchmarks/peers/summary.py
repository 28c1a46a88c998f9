"""From runs to tables. Pure: every figure that is shown comes from the document given.

A document: {"machine": {}, "date", "commands": [], "runs": n, "scale": 1.0, "window_s": s,
"peers": {name: {"title", "versions": {}, "settings", "figures": {figure: [one value a run]},
"foreign_cores": [one value a stage]}}}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from tools.tables import markdown

Document = Mapping[str, Any]

SPEED_COLUMNS: dict[str, tuple[str, ...]] = {
    "enqueue, one / bulk per s": ("enqueue_one_per_s", "enqueue_bulk_per_s"),
    "drain, 1 / 2 processes per s": ("drain_per_s", "drain_two_processes_per_s"),
    "10 ms sleeps per s": ("sleeping_per_s",),
    "start p50 / p99 ms": ("start_p50_ms", "start_p99_ms"),
    "bytes queued / left": ("queued_job_bytes", "finished_job_bytes"),
    "CPU s per 10,000, workers / server": ("worker_cpu_s_per_10k", "server_cpu_s_per_10k"),
    "B behind A, p50 s": ("rival_p50_s",),
    "all of A and B, s": ("backlog_s",),
}
CRASH_COLUMNS: dict[str, tuple[str, ...]] = {
    "running at the kill": ("running_at_kill",),
    "jobs missing": ("missing",),
    "jobs run twice": ("ran_twice",),
    "recovered after s": ("recovered_s",),
}


def middle(values: Iterable[float | None]) -> float | None:
    """Return the median of what was measured, or None when any run has no figure."""
    known = list(values)
    if not known or any(value is None for value in known):
        return None
    return median(value for value in known if value is not None)


def shown(value: float | None) -> str:
    """Return a figure with three digits, all digits from 100 on; a dash for None."""
    if value is None:
        return "-"
    if abs(value) >= 99.5 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".")


def spread(values: Iterable[float | None]) -> str:
    """Return the median and, where runs differ, the range, or in how many runs there is one."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    if not numbers:
        return "-"
    text = shown(median(numbers))
    if len(numbers) < len(known):
        return f"{text} in {len(numbers)} of {len(known)} runs"
    low, high = min(numbers), max(numbers)
    return text if low == high else f"{text} ({shown(low)} to {shown(high)})"


def speed_table(document: Document) -> str:
    """Return a row of medians for each peer that has figures of speed."""
    rows = [
        [peer["title"], *(_cell(peer, names) for names in SPEED_COLUMNS.values())]
        for peer in _having(document, SPEED_COLUMNS)
    ]
    return markdown(["queue", *SPEED_COLUMNS], rows)


def crash_table(document: Document) -> str:
    """Return a row for each peer that was crashed: medians with ranges, and its settings."""
    rows = [
        [
            _named(peer),
            *(spread(peer["figures"].get(name, [])) for (name,) in CRASH_COLUMNS.values()),
            peer["settings"],
        ]
        for peer in _having(document, CRASH_COLUMNS)
    ]
    return markdown(["queue", *CRASH_COLUMNS, "settings"], rows)


def settings_table(document: Document) -> str:
    """Return versions and settings of each peer that has figures of speed."""
    rows = [
        [peer["title"], _versions(peer), peer["settings"]]
        for peer in _having(document, SPEED_COLUMNS)
    ]
    return markdown(["queue", "versions", "settings (N: concurrency)"], rows)


def frame(document: Document) -> str:
    """Return one paragraph: machine, server, runs, foreign load, command."""
    machine = document["machine"]
    foreign = [load for peer in document["peers"].values() for load in peer["foreign_cores"]]
    load = f" Other processes used up to {max(foreign):.2f} cores meanwhile." if foreign else ""
    scale = document["scale"]
    runs = document["runs"]
    taken = "one run" if runs == 1 else f"medians of {runs} runs"
    scaled = "" if scale == 1 else f" Only {scale:.3g} of the usual number of jobs."
    commands = ", ".join(f"`{command}`" for command in document["commands"])
    return (
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}, "
        f"{machine['server']} without persistence, {document['date']}; {taken}."
        f"{load}{scaled} Measured by {commands}."
    )


def speed_text(document: Document) -> str:
    """Return all of the table of docs/performance.md."""
    return "\n\n".join([frame(document), speed_table(document), settings_table(document)])


def crash_text(document: Document) -> str:
    """Return all of the table of docs/reliability.md."""
    what = (
        "Jobs of 5 ms, 8 at a time. When 40 % have ended, SIGKILL ends every process of the "
        "workers, and new workers start at once; nothing else is enqueued. A job is missing when "
        f"it has not ended {document['window_s']:g} s later; it ran twice when it ended twice. "
        "Medians, with the range where runs differ."
    )
    return "\n\n".join([what, frame(document), crash_table(document)])


def has(document: Document, columns: Mapping[str, Sequence[str]]) -> bool:
    """Return whether any peer has figures for these columns."""
    return bool(_having(document, columns))


def _having(document: Document, columns: Mapping[str, Sequence[str]]) -> list[Mapping[str, Any]]:
    wanted = {name for names in columns.values() for name in names}
    return [peer for peer in document["peers"].values() if wanted & peer["figures"].keys()]


def _cell(peer: Mapping[str, Any], names: Sequence[str]) -> str:
    return " / ".join(shown(middle(peer["figures"].get(name, []))) for name in names)


def _versions(peer: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in peer["versions"].items())


def _named(peer: Mapping[str, Any]) -> str:
    name, version = next(iter(peer["versions"].items()), ("", ""))
    return f"{peer['title']} ({name} {version})"
