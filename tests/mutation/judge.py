"""Who judges one mutant after another, by the tests that call a script which it changes.

    survey: each test once, on whole scripts --> judge(mutant) --> judge(mutant) ...

In the survey each script has marks, which show what lines a test reaches; tests that do not reach a
line are no judges of it. A test that knows scripts by their hash, and would thus call every mutant
dead, fails there: nothing is judged until it is fixed. What earlier runs have found need not be
found again; but before such a test may kill, it must pass once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1
from pathlib import Path
from time import monotonic

import pytest

from queuepool.verbs.scripts import names, script
from tests.mutation.files import changed, texts, users
from tests.mutation.marks import Marks, Reach, marked
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
    """What a test calls on whole scripts, what lines it reaches, and how long it takes.

    version: of the test and of the scripts. reach: lines by file; None if that is not known.
    """

    test: str
    version: str
    calls: tuple[str, ...]
    seconds: float
    reach: Mapping[str, tuple[int, ...]] | None


@dataclass(slots=True)
class _Record:
    """What is known of a test: what it judges; its seconds on whole scripts; its kills."""

    judges: frozenset[str]
    seconds: float
    reach: Reach | None
    kills: dict[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)

    def reaches(self, mutant: Mutant, marks: Marks) -> bool:
        """Return whether the test may notice a mutant."""
        if not self.judges & users()[mutant.file]:
            return False
        if self.reach is None or mutant.line not in marks.get(mutant.file, ()):
            return True
        return mutant.line in self.reach.get(mutant.file, ())

    def worth(self, file: str) -> float:
        """Return the kills a second that may be hoped for, of mutants of a file."""
        kills = self.kills.get(file, 0) + 0.1 * sum(self.kills.values()) + 0.05
        return kills / (self.spent.get(file, 0) + self.seconds + 0.005)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before. marks: lines that can have one; the rest is of earlier runs.

    killers: of mutants of lines like these.
    """

    marks: Marks = field(default_factory=dict)
    surveys: Mapping[str, Survey] = field(default_factory=dict)
    killers: Mapping[Mutant, str] = field(default_factory=dict)


class Judge:
    """Judges mutants by the tests of a runner. learn: takes surveys that were not known."""

    def __init__(self, runner: Runner, known: Known, learn: Callable[[Survey], object]) -> None:
        self._runner, self._marks, self._killers = runner, known.marks, known.killers
        self._marked = marked(texts(), known.marks)
        self._records: dict[str, _Record] = {}
        self._sound: set[str] = set()  # tests that passed on whole scripts in this process
        for item in runner.items:
            survey = known.surveys.get(item.nodeid)
            if survey is None or survey.version != _version(item.path, survey.calls):
                survey = self._survey(item)
                learn(survey)
            reach = _as_sets(survey.reach)
            record = _Record(_judged(item, survey.calls), survey.seconds, reach)
            self._records[item.nodeid] = record

    def _survey(self, item: pytest.Item) -> Survey:
        with self._runner.in_place(self._marked):
            run = self._runner.run(item)
            if run.failed:
                run = self._runner.run(item)
        if run.failed:
            raise NotGreenError(f"fails on whole scripts: {item.nodeid}\n{run.told}")
        self._sound.add(item.nodeid)
        calls = tuple(sorted(run.called))
        reach = None
        if run.reach is not None:
            reach = {file: tuple(sorted(lines)) for file, lines in run.reach.items()}
        return Survey(item.nodeid, _version(item.path, calls), calls, run.seconds, reach)

    def judge(self, mutant: Mutant, patience: float = 1) -> Verdict | None:
        """Return whether a test notices a mutant; None if the patience ends before that is known.

        patience: a part of the time that all tests of it take.
        """
        began, items = monotonic(), self._in_order([mutant])
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
        record = self._records[item.nodeid]
        reached = {m.file: m.source for m in mutants if record.reaches(m, self._marks)}
        if not reached:
            return False
        with self._runner.in_place(changed(reached)):
            return self._runner.run(item, record.seconds).failed

    def _kills(self, item: pytest.Item, mutant: Mutant) -> tuple[bool, bool]:
        """Return whether a test notices a mutant, and whether by its time."""
        record, instead = self._records[item.nodeid], changed({mutant.file: mutant.source})
        if not record.reaches(mutant, self._marks):
            return False, False
        with self._runner.in_place(instead):
            run = self._runner.run(item, record.seconds)
            record.spent[mutant.file] = record.spent.get(mutant.file, 0) + run.seconds
            out_of_time = run.out_of_time
            if run.failed:  # a test that fails by chance, or on a busy machine, is no judge
                run = self._runner.run(item, record.seconds)
        if run.failed and item.nodeid not in self._sound:
            self._survey(item)
        record.kills[mutant.file] = record.kills.get(mutant.file, 0) + run.failed
        return run.failed, out_of_time

    def _in_order(self, mutants: Sequence[Mutant]) -> list[pytest.Item]:
        first = {self._killers.get(mutant) for mutant in mutants}

        def worth(item: pytest.Item) -> float:
            return sum(self._records[item.nodeid].worth(mutant.file) for mutant in mutants)

        def judges(item: pytest.Item) -> bool:
            record = self._records[item.nodeid]
            return any(record.reaches(mutant, self._marks) for mutant in mutants)

        items = filter(judges, self._runner.items)
        return sorted(items, key=lambda item: (item.nodeid not in first, -worth(item)))


def _verdict(mutant: Mutant, killer: str | None, out_of_time: bool, seconds: float) -> Verdict:
    return Verdict(mutant.file, mutant.line, mutant.text, killer, out_of_time, seconds)


def _version(path: Path, calls: Sequence[str]) -> str:
    """Return what changes with a test's file and with the scripts that it calls."""
    return _digest(_text(path) + b"".join(script(name).sha for name in calls if name in names()))


@cache
def _text(path: Path) -> bytes:
    return path.read_bytes()


def _digest(text: bytes) -> str:
    return sha1(text, usedforsecurity=False).hexdigest()


def _as_sets(reach: Mapping[str, tuple[int, ...]] | None) -> Reach | None:
    return None if reach is None else {file: frozenset(lines) for file, lines in reach.items()}


def _judged(item: pytest.Item, calls: Sequence[str]) -> frozenset[str]:
    if any(test in item.nodeid for test in _OF_ONE):
        return frozenset({item.callspec.params["name"]})  # type: ignore[attr-defined]
    return frozenset(calls)


def run_judge(
    work: Callable[[Judge], None], tests: Sequence[str],
    known: Known | None = None, learn: Callable[[Survey], object] = lambda _: None,
) -> None:  # fmt: skip
    """Collect tests in this process, survey them, and let work judge. Raises what work raises."""
    run_tests(lambda runner: work(Judge(runner, known or Known(), learn)), tests)
