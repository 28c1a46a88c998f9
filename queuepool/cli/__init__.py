"""The `queuepool` command: demo, up, bulk, status, watch, scale, dead, check and more.

Each command is a separate module, imported only when used, so that `--help` and usage errors are
fast. A command is a function from parsed arguments to an exit code.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from queuepool.cli.exits import CommandError, Exit, code_of
from queuepool.cli.parser import build_parser
from queuepool.errors import ConfigurationError, QueuePoolError
from queuepool.telemetry import printing
from queuepool.telemetry.logs import clean_last_resort

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Errors become one line on standard error."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = printing.show_uncaught
    printing.escape_what_streams_cannot_hold()
    if os.getpid() == 1:  # of a container: without a handler, the kernel drops what would end it
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["consumer"], ["coordinator"]):
        from queuepool.process.launching import become

        become(words[0], words[1:])
    try:
        arguments = build_parser(words).parse_args(words)
        clean_last_resort()
        code = _run(arguments)
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


def _run(arguments: argparse.Namespace) -> Exit:
    logged = getattr(arguments, "logged", None)
    if logged is not None:
        from queuepool.cli.inspection.logged import run_logged

        return run_logged(arguments, logged)
    code: Exit = arguments.run(arguments)
    return code


def _complain(code: Exit, *lines: str) -> Exit:
    printing.remark(*(f"queuepool: {line}" for line in lines))
    return code
