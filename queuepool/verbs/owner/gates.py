"""Verbs of gates, where jobs that name limits wait. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from queuepool.errors.escaping import stored_text
from queuepool.models.limits import limits_of
from queuepool.verbs import Argument, Verb
from queuepool.verbs.owner.calls import owned
from queuepool.verbs.owner.replies import Ownership


class Admitted(Struct, frozen=True):
    """What an `admit` did at a gate. requested: jobs that it might admit.

    waiting: admitted by now and not claimed yet; left: ids at the gate.
    """

    limits: str
    requested: int
    admitted: int
    waiting: int
    left: int
    cancelled: int


class Gate(Struct, frozen=True):
    """Where jobs that name the same limits wait: their names joined by commas.

    parked: ids that wait there; waiting: jobs admitted to their lanes and not claimed yet.
    """

    limits: str
    parked: int
    waiting: int


class GatePage(Struct, frozen=True):
    """Some gates, some of them perhaps twice. cursor: of the next page, b"0" at the end.

    earlier: owners before this one that may have jobs; used: whether jobs ever were at a gate.
    Names that no script takes for a gate's are left out.
    """

    cursor: bytes
    earlier: int
    used: bool
    gates: tuple[Gate, ...]


def admit(ownership: Ownership, limits: str, jobs: int, *, most_waiting: int) -> Verb[Admitted]:
    """Move up to so many (200) jobs that are parked at a gate to their lanes.

    limits: of the gate, as in Gate. most_waiting: jobs that may be admitted and not claimed yet.
    """
    args: list[Argument] = [limits.encode(), jobs, most_waiting]
    return owned("admit", ownership, args, lambda r: Admitted(limits, jobs, *r))


def gates(cursor: bytes = b"0", *, count: int = 200) -> Verb[GatePage]:
    """Return a page of the gates at which jobs wait, or were admitted and not claimed yet."""

    def read(r: Any) -> GatePage:
        found = zip(*[iter(r[3:])] * 3, strict=True)
        known = (Gate(stored_text(name), parked, out) for name, parked, out in found)
        ours = tuple(gate for gate in known if limits_of(gate.limits))
        return GatePage(bytes(r[0]), r[1], bool(r[2]), ours)

    return Verb("gates", [cursor, count], read)
