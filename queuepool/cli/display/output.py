"""Output of commands: JSON for scripts, tables and remarks for people."""

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
_ANY_WIDTH = 10_000  # lines in a log file or a pipe are not wrapped


def print_json(value: Any) -> None:
    """Print one value as one line of JSON on standard output."""
    printing.say_json(value, plain)


def plain(value: Any) -> Any:
    """Return a readable form of what JSON cannot hold."""
    if isinstance(value, bytes):
        return stored_text(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def console() -> Console:
    """Return a console on standard output; without a terminal, it gets no escape codes.

    Then it also gets whole lines. The variable COLUMNS sets the width in either case. Only output
    of `styled` is drawn on it, so that every cell is as wide as measured.
    """
    return _console(stderr=False, is_terminal=printing.output_is_terminal())


def remark_console() -> Console:
    """Return a console on standard error, like `console`."""
    return _console(stderr=True, is_terminal=printing.remarks_are_on_terminal())


def _console(*, stderr: bool, is_terminal: bool) -> Console:
    from queuepool.telemetry.consoles import PipeConsole

    given = os.environ.get("COLUMNS", "")
    known = given.isascii() and given.isdecimal() and 0 < len(given) < 5
    width = (int(given) if known else 0) or (None if is_terminal else _ANY_WIDTH)
    return PipeConsole(stderr=stderr, width=width, highlight=False)


def styled(text: str, style: str = "") -> Text:
    """Return text for a console, with only visible characters."""
    from rich.text import Text

    return Text(visible(text), style=style)


def print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print lines uncut, even those wider than the terminal."""
    for line in lines:
        console.print(line, soft_wrap=True)


def clean(text: str, limit: int = 200) -> str:
    """Return untrusted text on one line, without terminal control characters; long text is cut.

    A line break and the blanks after it become one blank.
    """
    shown = visible(_BREAKS.sub(" ", text).strip())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
