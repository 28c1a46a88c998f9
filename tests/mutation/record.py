"""Verdicts on file, so that the proof can be made in pieces, and soon after a change.

A verdict holds as long as the code of every script that the mutant changes stays the same; comments
do not count. When it no longer holds, the test that killed is still the first to be tried. What was
found out of the tests is on file as well.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from hashlib import sha1
from pathlib import Path
from typing import Any

from tests.mutation.files import changed
from tests.mutation.judge import Survey, Verdict
from tests.mutation.mutants import Mutant


def key(mutant: Mutant) -> str:
    """Return what tells a mutant from others, and from itself in scripts that have changed."""
    digest = sha1(f"{mutant.file}\n{mutant.text}".encode(), usedforsecurity=False)
    for name, script in sorted(changed({mutant.file: mutant.source}).items()):
        digest.update(b"\n--\n" + name.encode() + b"\n" + _code(script.source))
    return digest.hexdigest()


def _code(source: bytes) -> bytes:
    lines = (line.strip() for line in source.splitlines())
    return b"\n".join(line for line in lines if line and not line.startswith(b"--"))


class Record:
    """What a file holds, one verdict or survey a line, and is added. Without a path: nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Verdict] = {}
        self._lines: dict[tuple[str, str], Verdict] = {}
        self.surveys: dict[str, Survey] = {}
        for line in path.read_text().splitlines() if path and path.exists() else ():
            self._read(json.loads(line))

    def known(self, mutant: Mutant) -> Verdict | None:
        """Return the verdict on a mutant that still holds."""
        found = self._known.get(key(mutant)) if self._known else None
        return found and replace(found, line=mutant.line)

    def before(self, mutant: Mutant) -> Verdict | None:
        """Return the last verdict on a line like this one, whatever has changed since."""
        return self._lines.get((mutant.file, mutant.text))

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        """Keep a verdict."""
        self._write({"key": key(mutant), **asdict(verdict)})

    def learn(self, survey: Survey) -> None:
        """Keep what a test calls."""
        self._write(asdict(survey))

    def _write(self, said: dict[str, Any]) -> None:
        if self._path:
            with self._path.open("a") as file:
                file.write(json.dumps(said) + "\n")

    def _read(self, said: dict[str, Any]) -> None:
        if "test" in said:
            reach = said["reach"] and {file: tuple(n) for file, n in said["reach"].items()}
            calls = tuple(said["calls"])
            self.surveys[said["test"]] = Survey(**{**said, "calls": calls, "reach": reach})
            return
        key = said.pop("key")
        verdict = self._known[key] = Verdict(**said)
        self._lines[verdict.file, verdict.text] = verdict
