"""A copy of the repository to change: what a recipe of CONTRIBUTING.md adds is added there.

    RECIPE = (Place("the list", lambda s: s.insert_after("queuepool/x.py", "ANCHOR", "new")), ...)
    CHECKS = (lambda s: s.pytest("tests/unit/test_x.py"), ...)
    passes_whole(RECIPE, CHECKS, tmp_path)
    refuses_without("the list", RECIPE, CHECKS, tmp_path)

A recipe is a tuple of places. Its test adds all of them and sees every check pass; then, once for
each place, it adds the others and sees a check fail (`refuses_without`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT

_LEFT_OUT = shutil.ignore_patterns(".*", "node_modules", "build", "dist", "results")
_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a check ended, and what it printed."""

    ok: bool
    output: str


@dataclass(frozen=True, slots=True)
class Scratch:
    """A copy of the repository in a directory of the test's own."""

    root: Path

    @classmethod
    def copied_to(cls, directory: Path) -> Scratch:
        """Copy the working tree, with what is not committed yet; takes about half a second."""
        root = directory / "repository"
        shutil.copytree(ROOT, root, ignore=_LEFT_OUT)
        return cls(root)

    def read(self, path: str) -> str:
        """Return a file's text."""
        return (self.root / path).read_text()

    def write(self, path: str, text: str) -> None:
        """Write a file, and the folders that it needs."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace text that occurs exactly once in a file."""
        text = self.read(path)
        assert text.count(old) == 1, f"{path} has {text.count(old)} times {old!r}"
        self.write(path, text.replace(old, new))

    def insert_after(self, path: str, anchor: str, text: str) -> None:
        """Insert text behind an anchor that occurs exactly once in a file."""
        self.replace(path, anchor, anchor + text)

    def run(self, *words: str) -> Outcome:
        """Run this Python with these arguments in the copy, which it imports instead of ours."""
        # No bytecode: a file that changes twice within a second would be taken for unchanged.
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
        } | {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        return Outcome(done.returncode == 0, done.stdout)

    def pytest(self, *words: str) -> Outcome:
        """Run tests of the copy."""
        return self.run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words)


@dataclass(frozen=True, slots=True)
class Place:
    """One place that a recipe touches, and how."""

    name: str
    add: Callable[[Scratch], None]


Check = Callable[[Scratch], Outcome]


def follow(recipe: Sequence[Place], scratch: Scratch, without: str = "") -> None:
    """Touch every place of a recipe but one."""
    for place in recipe:
        if place.name != without:
            place.add(scratch)


def passes_whole(recipe: Sequence[Place], checks: Sequence[Check], directory: Path) -> None:
    """Follow a recipe in a new copy; fail unless all checks pass."""
    scratch = Scratch.copied_to(directory)
    follow(recipe, scratch)
    for check in checks:
        outcome = check(scratch)
        assert outcome.ok, outcome.output


def refuses_without(
    place: str, recipe: Sequence[Place], checks: Sequence[Check], directory: Path
) -> None:
    """Follow a recipe in a new copy but for one place; fail unless a check fails."""
    scratch = Scratch.copied_to(directory)
    follow(recipe, scratch, without=place)
    assert not all(check(scratch).ok for check in checks), f"nobody misses {place}"
