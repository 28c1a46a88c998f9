"""Long lists in parts, each an address of its own: ?page=3. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

T = TypeVar("T")
_MOST = 10_000  # the highest number of a page


@dataclass(frozen=True, slots=True)
class Paging:
    """Which lines of a list are shown. more: there are others that were not read.

    before, after: the queries of the parts before and after; empty where there are none.
    """

    first: int
    last: int
    total: int
    more: bool
    before: str
    after: str

    @property
    def is_whole(self) -> bool:
        """Return whether the whole list is shown."""
        return not (self.before or self.after or self.more)


def number_of(asked: Mapping[str, str]) -> int:
    """Return which part of a list is asked for, from 1; the first if the address names none."""
    text = asked.get("page", "")
    usable = text.isascii() and text.isdecimal() and len(text) < 6
    return min(max(int(text), 1), _MOST) if usable else 1


def paged(
    found: Sequence[T], size: int, asked: Mapping[str, str], *, more: bool = False
) -> tuple[Sequence[T], Paging]:
    """Return the lines of the part that is asked for, and where it stands.

    found: the list, or what was read of it if `more` follows. asked: the query of the address, of
    which all but the page stays.
    """
    last_page = max(1, -(-len(found) // size))
    number = min(number_of(asked), last_page)
    begin = (number - 1) * size
    shown = found[begin : begin + size]
    return shown, Paging(
        first=begin + 1 if shown else 0,
        last=begin + len(shown),
        total=len(found),
        more=more,
        before=_query(asked, number - 1) if number > 1 else "",
        after=_query(asked, number + 1) if number < last_page else "",
    )


def _query(asked: Mapping[str, str], number: int) -> str:
    kept = {name: value for name, value in asked.items() if name != "page" and value}
    return urlencode(kept | {"page": str(number)})
