"""queuepool moves: the move of slots that is under way, or the last one; abort it."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable

from queuepool.cli.arguments import Actions, add_json, add_reason, duration
from queuepool.cli.display import moves as display
from queuepool.cli.display import output
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.moving import Moves
from queuepool.cli.inspection.pools import open_pool
from queuepool.errors import UnavailableError
from queuepool.routing.progress import Facts

DESCRIPTION = (
    "Show, follow or abort the current move. `queuepool partitions set N` and `queuepool move` "
    "start one. See docs/moves.md."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool moves`."""
    parser.set_defaults(run=run_show)
    actions = Actions(parser, required=False)
    watch = actions.add("watch", run_watch, "follow the move until it ends")
    abort = actions.add("abort", run_abort, "return all slots to where they were")
    watch.add_argument("--interval", type=duration, default=1.0, metavar="TIME", help="default 1s")
    add_reason(abort, "moves abort")
    for each in (parser, watch, abort):
        add_json(each)


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show the move."""
    with open_pool() as pool:
        tell(arguments, Moves(pool).facts())
    return Exit.OK


def run_watch(arguments: argparse.Namespace) -> Exit:
    """Follow the move to its end."""
    with open_pool() as pool:
        say: Callable[[str], None] = (lambda _: None) if arguments.json else output.say
        facts = follow(Moves(pool), say, arguments.interval)
        tell(arguments, facts)
    return Exit.OK


def run_abort(arguments: argparse.Namespace) -> Exit:
    """Abort the move."""
    with open_pool() as pool:
        tell(arguments, Moves(pool).abort())
    return Exit.OK


def tell(arguments: argparse.Namespace, facts: Facts) -> None:
    """Print where a move stands."""
    if arguments.json:
        output.print_json(display.describe(facts))
    else:
        output.say(display.sentence(facts))


def follow(
    moves: Moves, say: Callable[[str], None] | None = None, interval_s: float = 0.2
) -> Facts:
    """Wait for the end of a move; say each change. Ends when it has ended, or by Ctrl-C."""
    pause, said = threading.Event(), ""
    while True:
        try:
            facts = moves.facts()
        except UnavailableError as error:
            output.remark(str(error))  # a restart of a server is no reason to stop
        else:
            if facts.under_way is None:
                return facts
            if say is not None and (line := display.sentence(facts)) != said:
                say(line)
                said = line
        pause.wait(max(interval_s, 0.05))
