"""Verbs that move batches from one partition to another, beside the groups of their slots. Pure.

    batches          A   which there are
    freeze_batches   A   none of them is concluded, or forgotten, any more
    export_batch     A   a page of one
    adopt_batch      B   the same; it is frozen there
    drop_batch       A   deletes it

`thaw` ends what is frozen. All but `batches` name the version of the route of their step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from queuepool.errors.escaping import stored_text
from queuepool.verbs import Verb
from queuepool.verbs.moves.verbs import current


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a batch. following: where to go on, b"" at the end. words: as adopt_batch takes."""

    following: bytes
    words: Sequence[Any]

    @property
    def is_there(self) -> bool:
        """Return whether there is such a batch."""
        return bool(self.words[1])


def batches(cursor: bytes = b"0") -> Verb[tuple[bytes, list[str]]]:
    """Return the next cursor, b"0" at the end, and the names of some batches."""
    return Verb("walk", [cursor, 200, "b"], lambda r: (bytes(r[0]), list(map(stored_text, r[1]))))


def freeze_batches(version: int, names: Sequence[str]) -> Verb[int]:
    """Let up to 200 batches be neither concluded nor forgotten; return how many are there."""
    return Verb("freeze_batches", [version, *names], lambda r: int(current(r)))


def export_batch(version: int, name: str, cursor: bytes = b"") -> Verb[Page]:
    """Return a page of a frozen batch."""

    def read(r: Any) -> Page:
        following, now_ms, kind, at, found = current(r)
        return Page(bytes(following), (now_ms, bytes(kind), bytes(at), *found))

    return Verb("export_batch", [version, name, cursor], read)


def adopt_batch(version: int, name: str, page: Page) -> Verb[int]:
    """Take a page over."""
    return Verb("adopt_batch", [version, name, *page.words], lambda r: int(current(r)))


def drop_batch(version: int, name: str) -> Verb[bool]:
    """Delete a batch; returns whether nothing is left of it."""
    return Verb("drop_batch", [version, name], lambda r: int(current(r)) == 1)
