"""Which mutants live, and why that is no gap in the tests: survivors.toml, held to the truth."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.judge import Verdict

FILE = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why mutants of a line live. count: how many lines of the file have this text."""

    file: str
    line: str
    reason: str
    count: int = 1


def read(path: Path = FILE) -> list[Reason]:
    """Return the reasons that are written down. An entry may name several `files`."""
    entries = tomllib.loads(path.read_text()).get("survivor", [])
    return [Reason(file, **entry) for entry in entries for file in entry.pop("files")]


def problems(
    verdicts: Iterable[Verdict], reasons: Sequence[Reason], files: Iterable[str]
) -> list[str]:
    """Return what is wrong: survivors without a reason, and reasons without a survivor.

    files: those that were judged; reasons of others are not looked at.
    """
    lived = Counter((v.file, v.text) for v in verdicts if v.killer is None)
    judged = set(files)
    said: Counter[tuple[str, str]] = Counter()
    for reason in reasons:
        if reason.file in judged:
            said[reason.file, reason.line] += reason.count
    return [
        *(f"lives without a reason: {s}.lua: {t} ({n})" for (s, t), n in (lived - said).items()),
        *(f"has a reason but does not live: {s}.lua: {t}" for s, t in (said - lived)),
    ]
