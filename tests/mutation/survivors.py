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
    """Why mutants of a line live. count: how many lines of the script have this text."""

    script: str
    line: str
    reason: str
    count: int = 1


def read(path: Path = FILE) -> list[Reason]:
    """Return the reasons that are written down. An entry may name several `scripts`."""
    entries = tomllib.loads(path.read_text()).get("survivor", [])
    return [Reason(script, **entry) for entry in entries for script in entry.pop("scripts")]


def problems(
    verdicts: Iterable[Verdict], reasons: Sequence[Reason], scripts: Iterable[str]
) -> list[str]:
    """Return what is wrong: survivors without a reason, and reasons without a survivor.

    scripts: those that were judged; reasons of others are not looked at.
    """
    lived = Counter((v.script, v.text) for v in verdicts if v.killer is None)
    judged = set(scripts)
    said: Counter[tuple[str, str]] = Counter()
    for reason in reasons:
        if reason.script in judged:
            said[reason.script, reason.line] += reason.count
    return [
        *(f"lives without a reason: {s}.lua: {t} ({n})" for (s, t), n in (lived - said).items()),
        *(f"has a reason but does not live: {s}.lua: {t}" for s, t in (said - lived)),
    ]
