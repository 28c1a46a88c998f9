"""Who judges one mutant after another, by the tests that call a script which it changes.

    survey: each test once, on whole scripts --> judge(mutant) --> judge(mutant) ...

In the survey each script has one comment more. A test that knows scripts by their hash, and would
thus call every mutant dead, fails there: nothing is judged until it is fixed. What earlier runs
have found need not be found again; but before such a test may kill, it must pass once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1
from pathlib import Path
from time import monotonic

import pytest

from queuepool.verbs.scripts import named, names, script
from tests.mutation.files import changed, users
from tests.mutation.mutants import Mutant
from tests.mutation.runner import NotGreenError, Runner, run_tests

JUDGES = ("tests/contract", "tests/integration/servers/test_slot_migration.py",
          "tests/mutation/walk_beside_model.py")  # fmt: skip
# Their parameter `name` is the script that they judge; they call others for the scene alone.
_OF_ONE = ("wrong_types.py::test_a_wrong_type", "unreadable_keys.py::test_what_may_not_be_read")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a mutant. killer: the test that failed, None if none did."""

    file: str
    line: int
    text: str
    killer: str | None
    out_of_time: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Survey:
    """What a test calls on whole scripts, and how long it takes. version: of its text."""

    test: str
    version: str
    calls: tuple[str, ...]
    seconds: float


@dataclass(slots=True)
class _Record:
    """What is known of a test: what it judges; its seconds on whole scripts; its kills."""

    judges: frozenset[str]
    seconds: float
    kills: dict[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)

    def worth(self, file: str) -> float:
        """Return the kills a second that may be hoped for, of mutants of a file."""
        kills = self.kills.get(file, 0) + 0.1 * sum(self.kills.values()) + 0.05
        return kills / (self.spent.get(file, 0) + self.seconds + 0.005)


class Judge:
    """Judges mutants by the tests of a runner. known: surveys of earlier runs; learn: takes new."""

    def __init__(
        self,
        runner: Runner,
        known: Mapping[str, Survey] | None = None,
        learn: Callable[[Survey], object] = lambda _: None,
    ) -> None:
        self._runner = runner
        self._records: dict[str, _Record] = {}
        self._sound: set[str] = set()  # tests that passed on whole scripts in this process
        for item in runner.items:
            survey = known.get(item.nodeid) if known else None
            if survey is None or survey.version != _version(item.path):
                survey = self._survey(item)
                learn(survey)
            self._records[item.nodeid] = _Record(_judged(item, survey.calls), survey.seconds)

    def _survey(self, item: pytest.Item) -> Survey:
        same = b"\n-- the same in all but this line"
        with self._runner.in_place({n: named(n, script(n).source + same) for n in names()}):
            run = self._runner.run(item)
        if run.failed:
            raise NotGreenError(f"fails on whole scripts: {item.nodeid}\n{run.told}")
        self._sound.add(item.nodeid)
        return Survey(item.nodeid, _version(item.path), tuple(sorted(run.called)), run.seconds)

    def judge(self, mutant: Mutant, first: str = "", patience: float = 1) -> Verdict | None:
        """Return whether a test notices a mutant; None if the patience ends before that is known.

        first: the test to begin with. patience: a part of the time that all tests of it take.
        """
        began, items = monotonic(), self._in_order([mutant], first)
        left_s = patience * sum(self._records[item.nodeid].seconds for item in items)
        for item in items:
            killed, out_of_time = self._kills(item, mutant)
            if killed:
                return _verdict(mutant, item.nodeid, out_of_time, monotonic() - began)
            left_s -= self._records[item.nodeid].seconds
            if patience < 1 and left_s < 0:
                return None
        return _verdict(mutant, None, False, monotonic() - began)

    def judge_together(self, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, Verdict]]:
        """Judge mutants of different files, at little more than the price of one if most live.

        Each test judges all of them at once. If it fails, it judges each alone.
        """
        began, left = monotonic(), list(mutants)
        for item in self._in_order(mutants):
            if not self._notices(item, left):
                continue
            for mutant in list(left):
                killed, out_of_time = self._kills(item, mutant)
                if killed:
                    left.remove(mutant)
                    seconds = self._records[item.nodeid].seconds
                    yield mutant, _verdict(mutant, item.nodeid, out_of_time, seconds)
        share_s = (monotonic() - began) / len(mutants)
        yield from ((mutant, _verdict(mutant, None, False, share_s)) for mutant in left)

    def _notices(self, item: pytest.Item, mutants: Sequence[Mutant]) -> bool:
        record, instead = self._records[item.nodeid], changed({m.file: m.source for m in mutants})
        with self._runner.in_place(instead):
            calls = not record.judges.isdisjoint(instead)
            return calls and self._runner.run(item, record.seconds).failed

    def _kills(self, item: pytest.Item, mutant: Mutant) -> tuple[bool, bool]:
        """Return whether a test notices a mutant, and whether by its time."""
        record, instead = self._records[item.nodeid], changed({mutant.file: mutant.source})
        if record.judges.isdisjoint(instead):
            return False, False
        with self._runner.in_place(instead):
            run = self._runner.run(item, record.seconds)
            record.spent[mutant.file] = record.spent.get(mutant.file, 0) + run.seconds
            if run.failed:  # a test that fails by chance, or on a busy machine, is no judge
                run = self._runner.run(item, record.seconds)
        if run.failed and item.nodeid not in self._sound:
            self._survey(item)
        record.kills[mutant.file] = record.kills.get(mutant.file, 0) + run.failed
        return run.failed, run.out_of_time

    def _in_order(self, mutants: Sequence[Mutant], first: str = "") -> list[pytest.Item]:
        files = {mutant.file for mutant in mutants}
        scripts = {name for file in files for name in users()[file]}

        def worth(item: pytest.Item) -> float:
            return sum(self._records[item.nodeid].worth(file) for file in files)

        judges = [i for i in self._runner.items if scripts & self._records[i.nodeid].judges]
        return sorted(judges, key=lambda item: (item.nodeid != first, -worth(item)))


def _verdict(mutant: Mutant, killer: str | None, out_of_time: bool, seconds: float) -> Verdict:
    return Verdict(mutant.file, mutant.line, mutant.text, killer, out_of_time, seconds)


@cache
def _version(path: Path) -> str:
    """Return what changes with a test's file, and with what its folder shares."""
    shared = sorted(p for p in path.parent.glob("*.py") if not p.name.startswith("test_"))
    texts = b"".join(p.read_bytes() for p in (path, *shared))
    return sha1(texts, usedforsecurity=False).hexdigest()


def _judged(item: pytest.Item, calls: Sequence[str]) -> frozenset[str]:
    if any(test in item.nodeid for test in _OF_ONE):
        return frozenset({item.callspec.params["name"]})  # type: ignore[attr-defined]
    return frozenset(calls)


def run_judge(
    work: Callable[[Judge], None], tests: Sequence[str] = JUDGES,
    known: Mapping[str, Survey] | None = None, learn: Callable[[Survey], object] = lambda _: None,
) -> None:  # fmt: skip
    """Collect tests in this process, survey them, and let work judge. Raises what work raises."""
    run_tests(lambda runner: work(Judge(runner, known, learn)), tests)
