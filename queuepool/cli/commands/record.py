"""queuepool record: the cycles of a coordinator, or of the servers, in a file."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from queuepool.cli.arguments import add_grpc, add_json, duration, pool_name
from queuepool.cli.display import output
from queuepool.cli.display.sizes import parse_size
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.recordings import Part, end_line, from_coordinator, from_servers
from queuepool.models.places import DEFAULT_POOL

_SAYS_EVERY_S = 10.0
DESCRIPTION = """\
Record what the leading coordinator observes and decides, for `queuepool replay`. Without a
coordinator, the partitions are observed directly. Stops at the first bound: --for, --size, or
Ctrl-C. Follows a change of leader; if none responds for 30 s, it ends. See docs/scaling.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool record`."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a new file")
    add("--for", dest="duration", type=duration, default=3600.0, metavar="TIME", help="default 1h")
    add("--size", type=_size, default=100 << 20, metavar="SIZE",
        help="maximum size of the file, such as 20MB; default 100MB")  # fmt: skip
    add("--cycle", type=duration, default=1.0, metavar="TIME",
        help="interval of observations without a coordinator; default 1s")  # fmt: skip
    add("--pool", type=pool_name, default=DEFAULT_POOL, metavar="NAME",
        help="a worker pool other than the default one")  # fmt: skip
    add_grpc(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Record until the first bound is reached."""
    if arguments.duration <= 0 or arguments.cycle <= 0:
        raise CommandError("--for and --cycle must be above 0", Exit.USAGE)
    stopping = threading.Event()
    timer = threading.Timer(arguments.duration, stopping.set)
    timer.daemon, code = True, Exit.OK
    with _created(arguments.file) as file:
        recording = _Recording(file, arguments.size)
        timer.start()
        try:
            for part in _parts(arguments, stopping):
                if not recording.write(part):
                    break
            else:
                recording.why = "the time is over" if stopping.is_set() else recording.why
        except KeyboardInterrupt:
            recording.why = "stopped"
        except CommandError as error:
            if not recording.cycles:
                raise
            recording.why, code = str(error), error.code
        finally:
            stopping.set()
            timer.cancel()
            recording.end()
            if not recording.cycles:
                Path(arguments.file).unlink(missing_ok=True)
    if not recording.cycles:
        raise CommandError(f"nothing was recorded, so there is no file: {recording.why}")
    if arguments.json:
        output.print_json(recording.figures() | {"file": arguments.file})
    else:
        output.say(output.clean(f"{arguments.file}: {recording.line()}", 500))
    return code


def _parts(arguments: argparse.Namespace, stopping: threading.Event) -> Iterator[Part]:
    pool: str = arguments.pool
    found = from_coordinator(arguments.grpc, stopping, pool)
    yield from found if found is not None else from_servers(arguments.cycle, stopping, pool)


def _created(name: str) -> BinaryIO:
    try:
        return Path(name).open("xb")
    except FileExistsError:
        raise CommandError(f"{name} exists already: name a new file", Exit.USAGE) from None
    except (OSError, ValueError) as error:
        raise CommandError(f"{name} cannot be written: {error}", Exit.USAGE) from None


class _Recording:
    """The file, its bound and what is in it."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most, self._end = file, most, end_line()
        self.size = self.cycles = self.missed = 0
        self.why = "the coordinator ended the recording"
        self._said_s = time.monotonic()

    def write(self, part: Part) -> bool:
        """Write a part; returns whether there was room for it."""
        if self.size + len(part.lines) + 200 > self._most:
            self.why = f"the file is full ({self._most:,} bytes, --size)"
            return False
        self._write(part.lines)
        self.cycles += part.cycles
        self.missed += part.missed
        if time.monotonic() - self._said_s > _SAYS_EVERY_S:
            self._said_s = time.monotonic()
            output.remark(f"{self.cycles:,} cycles, {self.size:,} bytes")
        return True

    def end(self) -> None:
        """Write the reason of the end."""
        self._write(self._end(self.why[:150]))

    def _write(self, lines: bytes) -> None:
        self._file.write(lines)
        self._file.flush()  # what is written survives a kill
        self.size += len(lines)

    def figures(self) -> dict[str, object]:
        """Return what was recorded."""
        names = ("cycles", "missed", "size", "why")
        return {name: getattr(self, name) for name in names}

    def line(self) -> str:
        """Return the same as a line."""
        missed = f", {self.missed:,} missed" if self.missed else ""
        return f"{self.cycles:,} cycles{missed}, {self.size:,} bytes; {self.why}"


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
