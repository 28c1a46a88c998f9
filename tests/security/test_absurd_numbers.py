"""Numbers and durations that no one means are refused in a short line, by every command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from queuepool import cli
from queuepool.cli.arguments import pool_name, words
from queuepool.cli.parser import build_parser
from tests.security.test_nasty_text import commands

ABSURD = ["9" * 30, "9" * 400, "9" * 5000, "9" * 20 + "d", "1e5", "x" * 10_000, "\x1b[31m", "nan"]


def numbers() -> Iterator[tuple[tuple[str, ...], argparse.Action]]:
    for path, parser in commands(build_parser()):
        for action in parser._actions:
            if action.type not in (None, pool_name, words):
                yield path, action


@pytest.mark.parametrize(
    ("path", "action"),
    list(numbers()),
    ids=lambda part: "-".join(part) if isinstance(part, tuple) else part.dest,
)
def test_an_absurd_number_is_wrong_usage(
    path: tuple[str, ...], action: argparse.Action, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ABSURD:
        typed = [f"{action.option_strings[-1]}={text}"] if action.option_strings else [text, text]

        with pytest.raises(SystemExit) as ended:
            cli.main([*path, *typed])

        line = capsys.readouterr().err.splitlines()[-1]
        assert ended.value.code == 2, text
        assert "error: argument" in line, text
        assert len(line) < 300, text


def test_a_limit_of_dead_jobs_may_be_as_large_as_any_number_is() -> None:
    assert build_parser().parse_args(["dead", "list", "--limit", "9" * 18]).limit == int("9" * 18)
