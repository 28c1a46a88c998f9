"""What commands print: JSON for scripts, tables and remarks for people."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from queuepool.errors.escaping import stored_text, visible
from queuepool.telemetry import printing
from queuepool.telemetry.printing import remark, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = [
    "clean", "console", "plain", "print_json", "print_lines", "remark", "remark_console", "say",
    "styled",
]  # fmt: skip

_BREAKS = re.compile(r"[\t-\r\x1c-\x1f\x85\u2028\u2029]\s*")
_ANY_WIDTH = 10_000  # no one folds lines in a log file or a pipe


def print_json(value: Any) -> None:
    """Print one value as one line of JSON on standard output."""
    printing.say_json(value, plain)


def plain(value: Any) -> Any:
    """Return what JSON cannot hold in a readable form."""
    if isinstance(value, bytes):
        return stored_text(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def console() -> Console:
    """Return a console on standard output; one that is no terminal gets no escape codes.

    It gets whole lines as well. The variable COLUMNS says how wide it is in either case. Only what
    `styled` made is drawn on it: then every cell is as wide as it was measured.
    """
    return _console(stderr=False, is_terminal=printing.output_is_terminal())


def remark_console() -> Console:
    """Return a console on standard error, as `console` does."""
    return _console(stderr=True, is_terminal=printing.remarks_are_on_terminal())


def _console(*, stderr: bool, is_terminal: bool) -> Console:
    from rich.console import Console

    given = os.environ.get("COLUMNS", "")
    known = given.isascii() and given.isdecimal() and 0 < len(given) < 5
    width = (int(given) if known else 0) or (None if is_terminal else _ANY_WIDTH)
    return Console(stderr=stderr, width=width, highlight=False)


def styled(text: str, style: str = "") -> Text:
    """Return text to draw on a console, everything in it visible."""
    from rich.text import Text

    return Text(visible(text), style=style)


def print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print lines as they are, even those that are wider than the terminal: nothing is cut."""
    for line in lines:
        console.print(line, soft_wrap=True)


def clean(text: str, limit: int = 200) -> str:
    """Return text of a stranger on one line, without what could steer a terminal; a long one cut.

    Breaks, with the blanks behind them, become one blank: in prose the words count.
    """
    shown = visible(_BREAKS.sub(" ", text).strip())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
