"""CONTRIBUTING.md, "Add a command", followed in a scratch copy: each of three places is missed."""

from functools import partial
from pathlib import Path

import pytest

from tests.places.scratch import Place, Scratch, passes_whole, refuses_without
from tests.sampling import first_of

pytestmark = pytest.mark.timeout(600)  # each runs several tests in a process of its own

FILE = '''"""queuepool hello: a greeting."""

from __future__ import annotations

import argparse

from queuepool.cli.arguments import add_json
from queuepool.cli.display import output
from queuepool.cli.exits import Exit


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool hello`."""
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Greet."""
    output.say("hello")
    return Exit.OK
'''
RECIPE = (
    Place("the file", partial(Scratch.write, path="queuepool/cli/commands/hello.py", text=FILE)),
    Place(
        "the list",
        partial(
            Scratch.insert_after,
            path="queuepool/cli/commands/__init__.py",
            anchor='    Command("status", "show every partition", "status"),\n',
            text='    Command("hello", "say hello", "hello"),\n',
        ),
    ),
    Place(
        "the page",
        partial(
            Scratch.insert_after,
            path="docs/operations.md",
            anchor="    queuepool watch           # the same, live\n",
            text="    queuepool hello           # a greeting\n",
        ),
    ),
)
CHECKS = (
    lambda scratch: scratch.pytest("tests/docs/test_commands.py"),
    lambda scratch: scratch.run("-m", "queuepool", "hello"),
)


@pytest.mark.slow
def test_a_command_that_follows_the_recipe_passes(tmp_path: Path) -> None:
    passes_whole(RECIPE, CHECKS, tmp_path)


@pytest.mark.parametrize("place", first_of(place.name for place in RECIPE))
def test_a_place_left_out_is_missed(place: str, tmp_path: Path) -> None:
    refuses_without(place, RECIPE, CHECKS, tmp_path)
