"""queuepool partitions: how many there are, what each has, and how many there are to be."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import Actions, add_json, add_reason, count
from queuepool.cli.commands.moves import follow, tell
from queuepool.cli.display import moves as display
from queuepool.cli.display import output
from queuepool.cli.exits import Exit
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.moving import Line, Moves
from queuepool.cli.inspection.pools import open_pool
from queuepool.routing.progress import Facts

DESCRIPTION = (
    "Show partitions, or change their number without downtime: the leading coordinator moves slots "
    "with their jobs. See docs/moves.md."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool partitions`."""
    actions = Actions(parser)
    show = actions.add("show", run_show, "show partitions with their slots, jobs and owners")
    change = actions.add("set", run_set, "change the number of partitions")
    change.add_argument("count", type=count, metavar="N", help="the new number of partitions")
    change.add_argument("--on", default="", metavar="SERVER", help="server of new partitions")
    change.add_argument("--wait", action="store_true", help="wait until the move has ended")
    add_reason(change, "partitions set", "count --on")
    add_json(show)
    add_json(change)


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show all partitions."""
    with open_pool() as pool:
        moves = Moves(pool)
        facts = moves.facts()
        lines = moves.lines(facts)
        if arguments.json:
            for line in lines:
                output.print_json(_describe(line))
            return Exit.OK
        for row in display.table(lines):
            output.say(row)
        if facts.move is not None:
            output.say(display.sentence(facts))
        return Exit.OK


def run_set(arguments: argparse.Namespace) -> Exit:
    """Ask for a move, and tell how it began, or how it ended."""
    with open_pool() as pool:
        moves = Moves(pool)
        facts = moves.set_partitions(arguments.count, on=arguments.on)
        if arguments.wait:
            begins(arguments)  # it is asked for, and may take hours
            facts = follow(moves, None if arguments.json else output.say)
        tell(arguments, facts)
        if not arguments.json:
            _remark(facts, moves.lines(facts))
        return Exit.OK


def _remark(facts: Facts, lines: list[Line]) -> None:
    move = facts.move
    unowned = [
        line.number
        for line in lines
        if move is not None and line.number < move.partitions
        if line.state is not None and (line.state.owner is None or line.state.owner.lease_ms <= 0)
    ]
    if unowned:
        output.remark(
            f"no consumer owns partition {', '.join(map(str, unowned[:10]))}: start more "
            f"consumers; jobs there wait until one owns it"
        )
    if facts.under_way is not None:
        output.say("`queuepool moves watch` follows it, `queuepool moves abort` reverts it")


def _describe(line: Line) -> dict[str, object]:
    state = line.state
    owner = state.owner if state is not None else None
    return {
        "partition": line.number,
        "server": line.server,
        "slots": line.slots,
        "slots_goal": line.goal,
        "jobs": None if state is None else state.jobs,
        "owner": owner.host if owner is not None and owner.lease_ms > 0 else None,
    }
