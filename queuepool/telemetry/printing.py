"""The one place that writes to standard output and standard error: commands and processes alike.

    say, remark, ask   lines           invisible characters are escaped (queuepool.errors.escaping)
    say_json           one JSON line   exact: JSON escapes it
    complain           an error        its own lines only, the rest escaped
    ArgumentParser     usage, help, errors of arguments

Pipes and files get the same as a terminal, except colours: a file is later shown by `cat`, an
e-mail or a build page, where a forged line also deceives. --json gives the exact text. A test keeps
`print` and the streams out of every other module.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, TextIO

from queuepool.errors.escaping import block, visible

_RAISING = ("strict", "surrogateescape")  # on a character that the encoding lacks


def say(*lines: str) -> None:
    """Print lines on standard output, each as one line whatever it contains."""
    _write(sys.stdout, "".join(f"{visible(line)}\n" for line in lines))


def say_block(text: str, indent: str = "    ") -> None:
    """Print text of several lines on standard output, indented."""
    _write(sys.stdout, f"{block(text, indent)}\n")


def say_json(value: Any, plain: Callable[[Any], Any] = str) -> None:
    """Print one value as one line of JSON on standard output. plain: converts other types."""
    _write(sys.stdout, f"{json_line(value, plain)}\n")


def json_line(value: Any, plain: Callable[[Any], Any] = str) -> str:
    """Return JSON on one line of spaces and visible ASCII only. Exact."""
    return json.dumps(value, default=plain).replace("\x7f", "\\u007f")


def remark(*lines: str) -> None:
    """Print lines on standard error: for people, never part of the result."""
    _write(sys.stderr, "".join(f"{visible(line)}\n" for line in lines))


def remark_last(*lines: str) -> None:
    """Print lines on the standard error of the start: code of others may have replaced it."""
    _write(sys.__stderr__, "".join(f"{visible(line)}\n" for line in lines))


def ask(question: str) -> str:
    """Print a question on standard error; return the typed line, without its end."""
    _write(sys.stderr, f"{visible(question)} ")
    return read_line()


def read_line(limit: int = 64 * 1024) -> str:
    """Return the next line of standard input, stripped; "" at its end."""
    return "" if sys.stdin is None else sys.stdin.readline(limit).strip()


def complain(who: str, problem: Exception) -> None:
    r"""Print why a process cannot start, on standard error.

    Its \n begin lines: our errors escape untrusted text in them.
    """
    remark(*f"{who}: {problem}".split("\n"))


def flush() -> None:
    """Flush standard output. Raises BrokenPipeError."""
    if sys.stdout is not None:
        sys.stdout.flush()


def flush_all() -> None:
    """Flush both streams, ignoring a closed one."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError, OSError, AttributeError):
            stream.flush()


def discard_output() -> None:
    """Give up standard output after its reader went away; Python would fail on it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def escape_what_streams_cannot_hold() -> None:
    """Have characters outside a stream's encoding escaped, whichever library writes them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in _RAISING:
            stream.reconfigure(errors="backslashreplace")


def output_can_hold(text: str) -> bool:
    """Return whether standard output shows this text unescaped."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def output_is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def remarks_are_on_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def input_is_terminal() -> bool:
    """Return whether a user can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


class ArgumentParser(argparse.ArgumentParser):
    """An argparse parser that escapes errors, which may quote input; also for its subcommands.

    An argument that a subcommand does not know is told with the usage of that subcommand.
    """

    def parse_known_args(  # argparse asks it for each subcommand
        self, args: Any = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Return the parsed arguments, and no others: those are errors."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, []

    def error(self, message: str) -> NoReturn:
        """Print usage and error, and exit with 2."""
        super().error(visible(message))


def show_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an uncaught error, like sys.excepthook; escape its text, which is untrusted."""
    _write(sys.stderr, f"{uncaught_text(kind, error, trace)}\n")


def uncaught_text(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> str:
    """Return a traceback with all lines but the first indented, and everything visible."""
    text = "".join(traceback.format_exception(kind, error, trace)).rstrip("\n")
    first, _, rest = text.partition("\n")
    return f"{visible(first)}\n{block(rest, '  ')}" if rest else visible(first)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # as in a service without streams
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
