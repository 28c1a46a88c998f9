"""queuepool watch: every partition, live."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator

from queuepool.cli.arguments import add_grpc, add_json, duration
from queuepool.cli.display import output
from queuepool.cli.display.board import Board, plain_line
from queuepool.cli.display.view import ClusterView, as_json
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.sources import Source, open_source
from queuepool.errors import UnavailableError
from queuepool.telemetry import printing

_LEAST_INTERVAL_S = 0.1


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool watch`."""
    parser.add_argument("--interval", type=duration, default=1.0, metavar="TIME", help="default 1s")
    parser.add_argument("--for", dest="duration", type=duration, metavar="TIME", help="then stop")
    add_grpc(parser)
    add_json(parser, "print one JSON object per line and interval")


def run(arguments: argparse.Namespace) -> Exit:
    """Show views until Ctrl-C or the end of --for; plain lines without a terminal."""
    end = None if arguments.duration is None else time.monotonic() + arguments.duration
    interval_s = max(arguments.interval, _LEAST_INTERVAL_S)
    try:
        with open_source(arguments.grpc) as source:
            views = _views(source, interval_s, end)
            if arguments.json:
                for view in views:
                    output.print_json({"at": round(time.time(), 3)} | as_json(view))
            elif printing.output_is_terminal():
                _live(views)
            else:
                for view in views:
                    output.say(plain_line(view))
    except KeyboardInterrupt:
        pass  # the normal way to end it
    return Exit.OK


def _views(source: Source, interval_s: float, end: float | None) -> Iterator[ClusterView]:
    pause = threading.Event()
    while True:
        started = time.monotonic()
        try:
            yield source.look()
        except (UnavailableError, CommandError) as error:
            output.remark(str(error))  # a restart of a server is no reason to stop watching
        left_s = max(0.0, started + interval_s - time.monotonic())
        if end is not None and time.monotonic() + left_s >= end:
            return
        pause.wait(left_s)


def _live(views: Iterator[ClusterView]) -> None:
    from rich.live import Live

    board = Board()
    console = output.console()
    with Live(console=console, auto_refresh=False) as live:
        for view in views:
            board.note(view)
            live.update(board.draw(view, sparks=True, width=console.width), refresh=True)
