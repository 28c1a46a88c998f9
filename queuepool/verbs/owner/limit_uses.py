"""What an owner reports of its jobs that ended and of its limits, as text in its record. Pure.

    =ended equal took, parked granted finished service name, ...
    =5390 4720250 4733107,12 20000 5307 2653500 smtp,3 500 17 8200 mail:7

equal, took: thousandths of jobs of equal length (see `queuepool.models.work`); granted: starts in
1,000 s; service: milliseconds of a worker. What cannot be read, also by an older release, is left
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from queuepool.models.limit_use import REST, LimitUse
from queuepool.models.work import EndedWork

MOST: Final = 16  # limits in a report
_ONE = re.compile(rb"(\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) ([A-Za-z0-9_.:@/-]{1,64}|\*)")
_WORK = re.compile(rb"=(\d{1,15}) (\d{1,15}) (\d{1,15})")
_MOST_BYTES: Final = 4096


def limit_uses_text(uses: Iterable[LimitUse]) -> str:
    """Return the report of limits, at most `MOST` and the rest."""
    return ",".join(
        f"{one.parked} {one.granted_per_s * 1000:.0f} {one.finished_total} "
        f"{one.service_s_total * 1000:.0f} {one.name}"
        for one in uses
    )


def read_limit_uses(text: bytes) -> tuple[LimitUse, ...]:
    """Return what an owner reported of its limits."""
    if not text:
        return ()
    found: dict[str, LimitUse] = {}
    for part in text[:_MOST_BYTES].split(b",")[: MOST + 2]:
        match = _ONE.fullmatch(part)
        if match is not None:
            parked, granted, finished, service_ms = map(int, match.groups()[:4])
            name = match[5].decode("ascii")
            found[name] = LimitUse(
                name=name,
                parked=parked,
                granted_per_s=granted / 1000,
                finished_total=finished,
                service_s_total=service_ms / 1000,
            )
    return tuple(found.values())


def work_text(work: EndedWork) -> str:
    """Return the report of jobs that ended."""
    return f"={work.ended} {work.equal * 1000:.0f} {work.took * 1000:.0f}"


def read_work(text: bytes) -> EndedWork | None:
    """Return what an owner reported of its jobs that ended; None: nothing, as older releases."""
    match = _WORK.fullmatch(text[:_MOST_BYTES].partition(b",")[0])
    if match is None:
        return None
    return EndedWork(int(match[1]), int(match[2]) / 1000, int(match[3]) / 1000)


__all__ = ["MOST", "REST", "limit_uses_text", "read_limit_uses", "read_work", "work_text"]
