"""Commands of `queuepool`, run in this process as the console script runs them."""

import json
import os
from typing import Any

import pytest

from queuepool import cli

OURS = ("QUEUEPOOL_", "CONSUMER_", "COORDINATOR_")


class Shell:
    """Runs commands; keeps what the last one printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def run(self, *words: str) -> int:
        """Run a command with the settings of this process; return its exit code."""
        self._capsys.readouterr()
        code = cli.main(words)
        self.out, self.err = self._capsys.readouterr()
        return code

    def run_with(self, *words: str, **variables: str) -> tuple[int, str, str]:
        """Run one with these settings alone; return (exit code, standard output and error)."""
        with pytest.MonkeyPatch.context() as environment:
            for name in [name for name in os.environ if name.startswith(OURS)]:
                environment.delenv(name)
            for name, value in variables.items():
                environment.setenv(name, value)
            code = self.run(*words)
        return code, self.out, self.err

    @property
    def lines(self) -> list[Any]:
        """What the last command printed, a JSON object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def json(self, *words: str) -> list[Any]:
        """Run a command with --json; return its lines."""
        self.run(*words, "--json")
        return self.lines
