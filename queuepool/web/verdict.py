"""The first line of every page: the doctor's verdict, and whether the page itself has news. Pure.

A coordinator of an earlier release gives no verdict. Then what one observation tells must do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from markupsafe import escape

from queuepool.models import doctor
from queuepool.models.durations import format_duration
from queuepool.web.drawing import words
from queuepool.web.live.board import STALE_S, Look, name_of

_SHOWN = 5
_BAD: Final = {
    doctor.Severity.CRITICAL: "bad",
    doctor.Severity.WARNING: "warning",
    doctor.Severity.NOTICE: "note",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. remedy: the command that helps; link: of a page of ours.

    remark: what the page adds to the doctor's findings; it is listed, and nothing is wrong.
    """

    severity: Literal["bad", "warning", "note", "remark"]
    text: str
    remedy: str = ""
    link: str = ""
    meaning: str = ""
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first line of every page. severity: of the worst finding that is one, or good."""

    severity: str
    text: str
    findings: tuple[Finding, ...] = ()


def verdict_of(look: Look, now_s: float, unread: str = "") -> Verdict:
    """Return what is wrong, the worst first.

    unread: what of this one page cannot be read, and why; that comes before all else.
    """
    order = {"bad": 0, "warning": 1, "note": 2, "remark": 3}
    found = sorted(_findings(look, now_s), key=lambda one: order[one.severity])
    if unread:
        found.insert(0, Finding("bad", unread[:400]))
    judged = [one for one in found if one.severity != "remark"]
    worst = [one for one in judged if one.severity != "note"]
    if not judged:
        in_part = look.doctor is not None and not look.doctor.all_read
        text = "No problems found" + (" in what could be read" if in_part else "")
        return Verdict("good", text, tuple(found))
    if not worst:
        notices = f"{len(judged)} notice{'s' if len(judged) > 1 else ''}"
        return Verdict("note", f"{notices}: {_first_of(judged)}", tuple(found))
    return Verdict(worst[0].severity, _first_of(worst), tuple(found))


def _first_of(found: list[Finding]) -> str:
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{found[0].text}{more}"


def patch_of(verdict: Verdict) -> dict[str, str]:
    """Return the first line as an update of a page."""
    text = str(escape(words.clean(verdict.text)))
    return {"verdict-text": text, "verdict@data-severity": verdict.severity}


def _findings(look: Look, now_s: float) -> Iterator[Finding]:
    if look.problem:
        since = f"; the data shown is {format_duration(now_s - look.at_s)} old" if look.at_s else ""
        yield Finding("bad", f"{look.problem}{since}"[:400], "queuepool coordinator")
    elif now_s - look.at_s > STALE_S:
        yield Finding("bad", f"no data for {format_duration(now_s - look.at_s)}")
    if look.doctor is not None:
        yield from map(_of_doctor, look.doctor.findings)
    elif look.cluster is not None:
        yield from _of_one_look(look)
    yield from _remarks(look)


def _of_doctor(one: doctor.Finding) -> Finding:
    kind, _, name = one.subject.partition(" ")
    link = f"partition/{name}" if kind == "partition" and name.replace("/", "").isalnum() else ""
    text = f"{one.subject}: {one.what}"
    severity: Any = _BAD[one.severity]
    return Finding(severity, text, one.remedy, link, one.meaning, one.since_ms)


def _of_one_look(look: Look) -> Iterator[Finding]:
    if not look.cluster.leader.epoch and not look.cluster.leader.unknown:
        yield Finding("bad", "no coordinator leads; worker counts do not change", "queuepool check")
    for server in look.cluster.servers:
        if not server.reachable:
            yield Finding("bad", f"server {server.name} cannot be reached", "queuepool check")
    orphans = [p for p in look.places if not p.HasField("owner") and not p.stale]
    if orphans:
        text = f"no consumer owns {_named(orphans)}"
        yield Finding("bad", text, "queuepool consumer", _link(orphans))
    if stale := [p for p in look.places if p.stale]:
        yield Finding("bad", f"{_named(stale)}: not observed recently", "queuepool check")
    if aside := [p for p in look.places if p.set_aside]:
        jobs = sum(p.set_aside for p in aside)
        tasks = ", ".join(sorted({t for p in aside for t in p.unknown_tasks})[:_SHOWN])
        text = f"{words.count(jobs)} jobs wait for tasks that no consumer has registered: {tasks}"
        yield Finding("warning", text, "queuepool status", _link(aside))


def _remarks(look: Look) -> Iterator[Finding]:
    """Yield what operators did and may have forgotten."""
    if held := [p for p in look.places if p.HasField("held_since_ms")]:
        since_ms = min(p.held_since_ms for p in held)
        text = f"{_named(held)} held"
        yield Finding("remark", text, "queuepool release all", _link(held), since_ms=since_ms)
    if manual := [p for p in look.places if p.HasField("manual_until_ms")]:
        text = f"{_named(manual)}: workers set by an operator"
        yield Finding("remark", text, "", _link(manual))
    if dead := look.sum("dead"):
        yield Finding(
            "remark", f"{words.count(dead)} dead jobs are kept", "queuepool errors", "errors"
        )


def _named(places: list[Any]) -> str:
    names = [name_of(place) for place in places]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"partition{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN])}{more}"


def _link(places: list[Any]) -> str:
    return f"partition/{name_of(places[0])}"
