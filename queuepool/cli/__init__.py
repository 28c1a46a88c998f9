"""The `queuepool` command: demo, up, bulk, status, watch, scale, dead, check and more.

Each command is a separate module, imported only when used, so that `--help` and usage errors are
fast. A command is a function from parsed arguments to an exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.parser import build_parser
from queuepool.errors import (
    ConfigurationError,
    InvalidInputError,
    QueuePoolError,
    UnavailableError,
    UnconfirmableError,
)
from queuepool.telemetry import printing
from queuepool.telemetry.logs import clean_last_resort

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Errors become one line on standard error."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = printing.show_uncaught
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["consumer"], ["coordinator"]):
        from queuepool.process.launching import become

        become(words[0], words[1:])
    try:
        arguments = build_parser(words).parse_args(words)
        clean_last_resort()
        code = arguments.run(arguments)
        printing.flush()
        return int(code)
    except KeyboardInterrupt:
        return _complain(Exit.INTERRUPTED, "interrupted")
    except BrokenPipeError:
        printing.discard_output()
        return Exit.BROKEN_PIPE
    except CommandError as error:
        return _complain(error.code, *error.lines)
    except QueuePoolError as error:
        problems = error.problems if isinstance(error, ConfigurationError) else (str(error),)
        return _complain(code_of(error), *problems, *getattr(error, "__notes__", ()))
    except OSError as error:  # a file: network errors are the library's own
        where = f"{error.filename}: " if error.filename else ""
        return _complain(Exit.FAILED, f"{where}{error.strerror or error}")


def code_of(error: QueuePoolError) -> Exit:
    """Return the exit code of one of the library's errors."""
    if isinstance(error, UnconfirmableError):  # a setting is wrong, but something was already done
        return Exit.FAILED
    if isinstance(error, (ConfigurationError, InvalidInputError)):
        return Exit.USAGE
    return Exit.UNAVAILABLE if isinstance(error, UnavailableError) else Exit.FAILED


def _complain(code: Exit, *lines: str) -> Exit:
    printing.remark(*(f"queuepool: {line}" for line in lines))
    return code
