"""Verbs of owners about batches: tell their homes of ends, and conclude those at home here. Pure.

`note_ends` is sent to the home of the batches, by a version of the route (see `by_route` of
verbs.py); the others to the owner's own partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from queuepool.errors.escaping import stored_text
from queuepool.verbs import Argument, Verb
from queuepool.verbs.owner.calls import owned
from queuepool.verbs.owner.replies import Ownership
from queuepool.verbs.routed import here

UNTOLD_ENTRIES, UNTOLD_BYTES = 500, 1024**2  # of one page


class Note(Struct, frozen=True):
    """An entry of the stream of ends: the outcome of a job of a batch."""

    entry: bytes
    job_id: str
    end: bytes
    stamp: bytes
    text: bytes


class Untold(Struct, frozen=True):
    """A page of ends to tell. left: entries in all, those of the page included."""

    left: int
    notes: tuple[Note, ...]


class Tended(Struct, frozen=True):
    """Continuations let go, and died; batches forgotten. next_due_ms: None if there is no batch."""

    fired: int
    failed: int
    forgotten: int
    next_due_ms: int | None


def untold(ownership: Ownership, after: bytes = b"", told: Sequence[bytes] = ()) -> Verb[Untold]:
    """Read what is to be told to batches, after this entry; forget entries that were told."""

    def read(reply: Any) -> Untold:
        left, flat = reply
        found = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        notes = (
            Note(entry, stored_text(job_id), text[:1], text[1:12], text[12:])
            for entry, job_id, text in found
        )
        return Untold(int(left), tuple(notes))

    args: list[Argument] = [after or b"-", UNTOLD_ENTRIES, UNTOLD_BYTES, *told]
    return owned("untold", ownership, args, read)


def tend_batches(ownership: Ownership) -> Verb[Tended]:
    """Conclude batches that are complete or late, forget old ones; at most 20."""

    def read(r: Any) -> Tended:
        return Tended(r[0], r[1], r[2], None if r[3] < 0 else int(r[3]))

    return owned("tend_batches", ownership, (), read)


def note_ends(notes: Iterable[tuple[str, int, bytes, bytes, bytes]]) -> Verb[int]:
    """Tell batches the outcome of jobs: (batch, number, end, stamp, text); returns the news."""
    args: list[Argument] = ["", *(argument for note in notes for argument in note)]
    return Verb("note_ends", args, lambda r: int(here(r)))
