"""What commands print: JSON for scripts, tables and remarks for people."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_ANY_WIDTH = 10_000  # nobody folds lines in a log file or a pipe


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
    """Return a console; one that is no terminal gets whole lines and no escape codes.

    The variable COLUMNS says how wide it is in either case.
    """
    from rich.console import Console

    stream = stream or sys.stdout
    given = os.environ.get("COLUMNS", "")
    width: int | None = int(given) if given.isdecimal() and 0 < len(given) < 5 else 0
    width = width or (None if stream.isatty() else _ANY_WIDTH)
    return Console(file=stream, width=width, highlight=False)


def print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print lines as they are, even those that are wider than the terminal: nothing is cut."""
    for line in lines:
        console.print(line, soft_wrap=True)


def clean(text: str, limit: int = 200) -> str:
    """Return text of a stranger on one line, without what could steer a terminal."""
    shown = clean_line(" ".join(text.split()))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def clean_line(text: str) -> str:
    """Return one line, its spaces kept, without what could steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)
