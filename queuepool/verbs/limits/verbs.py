"""Verbs of limits: what owners ask, and what people set. Each is sent to the limit's home. Pure."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct, structs

from queuepool.errors.escaping import stored_text
from queuepool.models import Limit, LimitStatus
from queuepool.models.limits import check_limit_name, is_limit_name
from queuepool.verbs import Verb, number
from queuepool.verbs.owner.replies import Ownership

MAX_TOKENS = 1000
_PACE = re.compile(rb"[0-9]{1,7}\.[0-9]{3}")


class Granted(Struct, frozen=True):
    """What a limit grants to an owner. Times are us of the home's clock.

    Token i may be used from max(now_us, first_us + i * apart_us) on, for 2 s. permits: how many
    jobs may run at once; if more run, those that end are not replaced. again_us: when to ask again
    at the latest, 0 if there is no need.
    """

    now_us: int
    tokens: int
    first_us: int
    apart_us: float
    permits: int
    again_us: int
    paused: bool


def ask(
    ownership: Ownership,
    name: str,
    *,
    tokens: int,
    held: int,
    wanted: int,
    definition: str = "",
    serial: int = 0,
) -> Verb[Granted]:
    """Ask for tokens (0 to 1,000), and for permits.

    From when it is sent until the reply is read, the owner starts no job beyond those that it
    tells: if the reply is lost, it may have no more permits than that.

    held: jobs of the limit that run. wanted: how many are to run at once, these included.
    definition: what code declares of the limit. serial: grows with each ask of an ownership, so
    that one that is executed late changes no permits; 0 if unknown.
    """

    def read(r: Any) -> Granted:
        now_us, granted, first_us, apart, permits, again_us, paused = r
        return Granted(
            now_us, granted, first_us, float(apart), permits, again_us, paused=bool(paused)
        )

    asker = (ownership.asker, ownership.epoch)
    return Verb("ask", [name, *asker, serial, tokens, held, wanted, definition], read)


def slow(name: str, wait_ms: int, definition: str = "") -> Verb[int]:
    """Make all wait, as the downstream told one of them; returns the us at which that is over."""
    return Verb("slow", [name, wait_ms, definition], int)


def end_permits(asker: int | str, epoch: int, cursor: bytes = b"0") -> Verb[tuple[bytes, int]]:
    """Free the permits of an asker's ownerships before `epoch`; returns (next cursor, freed).

    Sent to every partition, until the next cursor is b"0", once no job of theirs can run.
    """
    return Verb("end_permits", [asker, epoch, cursor], lambda r: (bytes(r[0]), int(r[1])))


def ends_also(verb: Verb[tuple[bytes, int]], asker: int | str) -> Verb[tuple[bytes, int]]:
    """Return the same `end_permits` for another asker."""
    return structs.replace(verb, args=[asker, *verb.args[1:]])


def next_page(verb: Verb[tuple[bytes, int]], cursor: bytes) -> Verb[tuple[bytes, int]]:
    """Return the same `end_permits` from a cursor on."""
    return structs.replace(verb, args=[*verb.args[:2], cursor])


def set_limit(limit: Limit) -> Verb[bool]:
    """Define a limit, whatever code declares; returns whether that changed anything.

    Raises InvalidInputError for the name of a template.
    """
    return Verb("set_limit", [check_limit_name(limit.name), limit.definition], lambda r: r == 1)


def pause_limit(name: str, *, on: bool) -> Verb[bool | None]:
    """Pause or resume a limit; returns whether that changed anything.

    None: one that is to be resumed is unknown. A pause may come before the first job.
    """
    return Verb("pause_limit", [name, int(on)], _changed)


def remove_limit(name: str) -> Verb[bool | None]:
    """Remove what people set; returns whether that changed anything, None if it is unknown."""
    return Verb("remove_limit", [name], _changed)


def _changed(reply: Any) -> bool | None:
    return None if reply == -1 else reply == 1


def limits(after: bytes = b"", count: int = 100) -> Verb[tuple[bytes, list[LimitStatus]]]:
    """List limits by name; returns (name after which to go on, b"" at the end, and the limits).

    What is there under a name that no limit can have is left out.
    """

    def read(r: Any) -> tuple[bytes, list[LimitStatus]]:
        found = (_read_status(r[1], record) for record in r[2])
        return bytes(r[0]), [limit for limit in found if is_limit_name(limit.name)]

    return Verb("limits", [after, count, ""], read)


def find_limit(name: str) -> Verb[LimitStatus | None]:
    """Return what is known of one limit, None if nobody set it or asked for it lately."""
    return Verb("limits", ["", 1, name], lambda r: _read_status(r[1], r[2][0]) if r[2] else None)


def _read_status(now_us: int, record: Any) -> LimitStatus:
    raw_name, by_people, in_code, paused, pace, *counts = record
    granted, recent, wait_us, refused_us, running, waiting, askers, unused = counts
    name = stored_text(raw_name)
    by_hand, declared = (_read_limit(name, text) for text in (by_people, in_code))
    return LimitStatus(
        name=name,
        set=by_hand,
        declared=declared,
        paused_ms=max(1, number(paused)) if paused else 0,
        pace=_read_pace(by_hand or declared, pace),
        granted=granted,
        granted_last_s=recent,
        wait_ms=max(0, wait_us - now_us) // 1000,
        refused_ms=refused_us // 1000,
        running=running,
        waiting=waiting,
        askers=askers,
        unused=unused == 1,
    )


def _read_limit(name: str, text: bytes) -> Limit | None:
    return Limit.from_definition(name, stored_text(text)) if text else None


def _read_pace(limit: Limit | None, text: bytes) -> float | None:
    if limit is None or limit.rate is None:
        return None
    if limit.rate != "adaptive":
        return float(limit.rate)
    known = float(text) if _PACE.fullmatch(text) else 0.0
    least, most = limit.least or 1, limit.most or 1
    return known if least <= known <= most else float(least)
