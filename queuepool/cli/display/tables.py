"""Tables that fit a terminal: identifiers and counts are never cut.

too wide -> prose is cut, with an ellipsis, down to a useful width
         -> optional columns are dropped, the least important first
         -> each row becomes a paragraph, with its first cell on a separate line
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuepool.cli.display import output
from queuepool.telemetry import printing

if TYPE_CHECKING:
    from rich.text import Text

_GAP = 2
_LEAST_PROSE = 24
_INDENT = 4


@dataclass(frozen=True, slots=True)
class Column:
    """A column. goes: 0: never dropped; otherwise the column with the highest is dropped first.

    prose: text that may be cut; all other cells are shown whole or not at all.
    """

    name: str
    left: bool = False
    goes: int = 0
    prose: bool = False


def chosen(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int] | None:
    """Return the columns that fit into this width; None if no table fits.

    widths: of the widest cell of each, its header included. Pure.
    """
    kept = list(range(len(columns)))
    while _needed(columns, widths, kept) > width:
        may_go = [i for i in kept if columns[i].goes]
        if not may_go:
            return None
        kept.remove(max(may_go, key=lambda i: columns[i].goes))
    return kept


def _needed(columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int]) -> int:
    least = (min(widths[i], _LEAST_PROSE) if columns[i].prose else widths[i] for i in kept)
    return sum(least) + _GAP * (len(kept) - 1)


def draw(columns: Sequence[Column], rows: Sequence[Sequence[Text | str]], width: int) -> list[Text]:
    """Return the lines of a table, or of paragraphs if none fits.

    A cell is text, or the output of `output.styled`, so that it is measured as displayed.
    """
    from rich.text import Text

    cells = [
        [output.styled(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    ]
    widths = widths_of(columns, cells)
    kept = chosen(columns, widths, width)
    if kept is None:
        return [line for row in cells for line in _paragraph(columns, row, width)]
    spare = width - _needed(columns, widths, kept)
    for i in kept:
        if columns[i].prose and widths[i] > _LEAST_PROSE:
            wanted = widths[i]
            widths[i] = min(wanted, _LEAST_PROSE + spare)
            spare -= widths[i] - _LEAST_PROSE
    header = _line(columns, [Text(column.name, style="bold") for column in columns], widths, kept)
    line = "─" if printing.output_can_hold("─") else "-"
    rule = Text(line * (sum(widths[i] for i in kept) + _GAP * (len(kept) - 1)), style="dim")
    return [header, rule, *(_line(columns, row, widths, kept) for row in cells)]


def widths_of(columns: Sequence[Column], cells: Sequence[Sequence[Text]]) -> list[int]:
    """Return the widest cell of each column in characters of a terminal, its header included."""
    from rich.cells import cell_len

    return [
        max([cell_len(column.name), *(row[i].cell_len for row in cells)])
        for i, column in enumerate(columns)
    ]


def _line(
    columns: Sequence[Column], row: Sequence[Text], widths: Sequence[int], kept: Sequence[int]
) -> Text:
    from rich.text import Text

    line = Text(no_wrap=True, overflow="ignore")
    for i in kept:
        if line.plain:
            line.append(" " * _GAP)
        cell = row[i].copy()
        if cell.cell_len > widths[i]:
            cell.truncate(widths[i], overflow="ellipsis")
        pad = " " * (widths[i] - cell.cell_len)
        line.append_text(Text.assemble(cell, pad) if columns[i].left else Text.assemble(pad, cell))
    line.rstrip()
    return line


def _paragraph(columns: Sequence[Column], row: Sequence[Text], width: int) -> list[Text]:
    from rich.text import Text

    # Without a first cell, a row belongs to the one above.
    lines = [Text(row[0].plain, style="bold")] if row[0].plain else []
    line = Text(" " * _INDENT)
    for column, cell in zip(columns[1:], row[1:], strict=True):
        if not cell.plain:
            continue
        part = Text.assemble((f"{column.name} ", "dim"), cell)
        if column.prose and part.cell_len > width - _INDENT:
            part.truncate(max(width - _INDENT, _LEAST_PROSE), overflow="ellipsis")
        if len(line.plain) > _INDENT:
            if line.cell_len + _GAP + part.cell_len > width:
                lines.append(line)
                line = Text(" " * _INDENT)
            else:
                line.append(" " * _GAP)
        line.append_text(part)
    lines.append(line)
    for made in lines:
        made.no_wrap, made.overflow = True, "ignore"
    return lines
