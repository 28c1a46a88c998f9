"""Tables in the docs, written by the commands that measured them.

    <!-- table: NAME, written by `COMMAND` -->
    | ... |
    <!-- end of table -->

A successful command replaces the text between its two marks, and nothing else. A table may still be
empty; one without an end is refused, as is one that occurs twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
_BEGIN, _END = "<!-- table: ", "<!-- end of table -->"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; cells are turned into text, and their bars escaped."""

    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(heads), line(["---"] * len(heads)), *map(line, rows)])


def replaced(page: str, name: str, text: str) -> str:
    """Return a page with new text between the marks of a table.

    Raises LookupError when the page has no such table, one without an end, or more than one.
    """
    mark = re.compile(
        rf"({_BEGIN}{re.escape(name)}(?:,[^>]*)? -->\n)(?:(?!{_BEGIN}).)*?(?={_END})", re.DOTALL
    )
    page, n = mark.subn(lambda found: f"{found[1]}{text.rstrip()}\n", page)
    if n != 1:
        raise LookupError(
            f"{n} tables named {name!r}: put `<!-- table: {name} -->` and {_END} once"
        )
    return page


def write(name: str, text: str, page: str = "reliability.md") -> None:
    """Put text between the marks of a table in docs/."""
    path = DOCS / page
    path.write_text(replaced(path.read_text(), name, text))
