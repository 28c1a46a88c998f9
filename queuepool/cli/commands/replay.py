"""queuepool replay: a recording, decided again.

Needs no server and no coordinator: what decides is loaded by its name, since the library imports no
coordinator.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from queuepool.cli.arguments import add_json
from queuepool.cli.display import output
from queuepool.cli.display.fields import when
from queuepool.cli.display.shadows import compared
from queuepool.cli.exits import CommandError, Exit
from queuepool.models.places import DEFAULT_POOL, place_text

_REPLAY = "coordinator.simulator.replay"
_LONGEST_LINE = 64 << 20
_LONGEST = 500  # characters of a change
DESCRIPTION = """\
Replay a file of `queuepool record`: with the recorded policy, which must reproduce the decisions
exactly, or with another one, to compare costs and waits. See docs/scaling.md.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool replay`."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a file of `queuepool record`")
    add("--policy", default="", metavar="NAME", help="another policy; default: the recorded one")
    add("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE",
        help="a setting of the policy; may be repeated")  # fmt: skip
    add("--changes", action="store_true", help="list every change of a worker count")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Replay, and print what came out; a difference sets the exit code."""
    try:
        found = import_module(_REPLAY).answer(
            _lines(arguments.file),
            arguments.policy,
            arguments.settings,
            changes=arguments.changes,
        )
    except ValueError as error:
        raise CommandError(f"{arguments.file}: {error}", Exit.USAGE) from error
    if arguments.json:
        output.print_json(found if arguments.changes else _without(found, "changes"))
    else:
        _print(found)
        if found["shadow"] is None and (arguments.policy or arguments.settings):
            output.say("nothing to compare: the recorded policy and settings are the same")
    return Exit.FAILED if found["different"] else Exit.OK


def _lines(name: str) -> Iterator[bytes]:
    try:
        with Path(name).open("rb") as file:
            while line := file.readline(_LONGEST_LINE):
                yield line
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}") from error


def _without(found: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != name}


def _print(found: dict[str, Any]) -> None:
    for one in found["changes"]:
        change = f"{one['previous']} -> {one['target']}"
        name = place_text(one["partition"], found["pool"])
        line = f"{when(one['at_ms'])}  partition {name}: {change}  {one['reason']}"
        output.say(output.clean(line, _LONGEST))
    seconds = (found["ended_ms"] - found["began_ms"]) / 1000
    of = "" if found["pool"] == DEFAULT_POOL else f" of pool {output.clean(found['pool'])}"
    by = ", ".join(found["policies"])
    output.say(f"{found['cycles']:,} cycles{of} in {seconds:,.0f} s, by {by}")
    first = found["first_difference"]
    if not found["compared"]:
        output.say(
            "no coordinator was leading during the recording, so there is nothing to compare"
        )
    elif first is None:
        output.say(f"all {found['decisions']:,} decisions were reproduced exactly")
    else:
        what = (
            "only its reasons or figures differ"
            if first["partition"] is None
            else f"partition {first['partition']}: {first['recorded']} workers were wanted, "
            f"{first['replayed']} now"
        )
        output.say(
            f"{found['different']:,} cycles differ, the first is cycle {first['cycle']} at "
            f"{when(first['at_ms'])}: {what}"
        )
    if found["shadow"] is not None:
        for line in compared(found["shadow"], output.console().width):
            output.say(line)
