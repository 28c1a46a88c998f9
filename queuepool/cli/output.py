"""What commands print: JSON for scripts, tables and remarks for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PLAIN_WIDTH = 160  # nobody folds lines in a log file or a pipe


def print_json(value: Any) -> None:
    """Print one value as one line of JSON on standard output."""
    print(json.dumps(value, default=plain), flush=True)


def plain(value: Any) -> Any:
    """Return what JSON cannot hold in a readable form."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def remark(text: str) -> None:
    """Print a remark on standard error: it is for people and never part of the result."""
    print(text, file=sys.stderr, flush=True)


def console(stream: TextIO | None = None) -> Console:
    """Return a console; one that is no terminal gets wide lines and no escape codes."""
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() else _PLAIN_WIDTH
    return Console(file=stream, width=width, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> Table:
    """Return a table whose columns are right-aligned but for the first `left`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        made.add_column(name, justify="left" if number < left else "right", no_wrap=number > 0)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return made


def clean(text: str, limit: int = 200) -> str:
    """Return text of a stranger on one line, without what could steer a terminal."""
    shown = clean_line(" ".join(text.split()))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def clean_line(text: str) -> str:
    """Return one line, its spaces kept, without what could steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)
