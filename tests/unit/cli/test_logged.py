"""Which commands are recorded in the log, and in which words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from queuepool.cli.inspection.logged import subject_of
from queuepool.cli.parser import build_parser

# They only look, work on files, or run processes. `bulk` and `relay` enqueue, as applications do.
OTHERS = """
    demo, up, consumer, coordinator, bulk, relay, web, protocol show, acl, check, simulate, faults,
    record, replay, what-if, why, decisions, doctor, advise, log, status, watch, errors,
    jobs running, job find, job show, job history, group list, group show, group wait,
    tenant show, policy show,
    limit list, limit show, flow list, flow show, schedule list, schedule show, migrate status,
    dead list, dead show, dead digest, partitions show, moves watch
"""


def commands(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, bool]]:
    """Yield every command, and whether it is recorded in the log."""
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not inner:
        yield path.strip(), parser.get_default("logged") is not None
    for action in inner:
        for name, sub in action.choices.items():
            yield from commands(sub, f"{path} {name}")


def test_every_command_that_acts_takes_a_reason_and_is_kept_in_the_log() -> None:
    others = {" ".join(name.split()) for name in OTHERS.split(",")}

    assert {name for name, kept in commands(build_parser()) if not kept} == others


def test_what_is_kept_of_arguments_exists() -> None:
    def check(parser: argparse.ArgumentParser) -> None:
        known = {action.dest for action in parser._actions}
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for sub in action.choices.values():
                    check(sub)
        logged = parser.get_default("logged")
        if logged is not None:
            shows = [word for word in logged.shows if not word.startswith("=")]
            named = {
                (word.partition(":")[2] or word.lstrip("-")).replace("-", "_") for word in shows
            }
            named |= {*logged.only.split(), *filter(None, [logged.unless])}
            assert named <= known, logged
            assert "reason" in known
            assert not named & {"payload", "url", "reason"}, "what may be secret is not kept"

    check(build_parser())


@pytest.mark.parametrize(
    ("shows", "values", "subject"),
    [
        ("=group key --tenant", {"key": "a b", "tenant": None}, "group a b"),
        ("ids --task", {"ids": [], "task": "send"}, "--task send"),
        ("ids", {"ids": list("abcdefgh")}, "a b c d e and 3 more"),
        ("partition workers --for:duration", {"partition": (3, "video"), "workers": 24,
         "duration": 600.0}, "partition 3/video 24 --for 10m"),
        ("share --key", {"share": 10.0, "key": ["a", "b"]}, "10 --key a b"),
        ("--since --all", {"since": datetime(2026, 11, 23, 2, 10, tzinfo=UTC), "all": True},
         "--since 2026-11-23T02:10:00+00:00 --all"),
        ("--serial", {"serial": False}, ""),
    ],
)  # fmt: skip
def test_a_subject_is_what_was_typed(shows: str, values: dict[str, object], subject: str) -> None:
    assert subject_of(argparse.Namespace(**values), tuple(shows.split())) == subject
