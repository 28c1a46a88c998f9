"""Several processes, each with servers and tests of its own, that judge what is handed to them.

Mutants are judged alone, file by file, as long as patience lasts: most die soon. Those that it does
not last for, and those that are known to live, are judged together, one of each file.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.mutation.judge import Judge, Known, Survey, Verdict, run_judge
from tests.mutation.mutants import Mutant
from tests.mutation.runner import NotGreenError

# A mutant that gathers forever in a loop shall not take the machine's memory.
_MEMORY_BYTES = 4 * 2**30
_PATIENCE = 0.1  # of the time that all tests of a mutant take
_TOGETHER = 16

Judged = tuple[Mutant, Verdict]


@dataclass(frozen=True, slots=True)
class _Failure:
    text: str


class _Ready:
    """A process waits for a case. Two that send much at once would wait for each other."""


@dataclass(frozen=True, slots=True)
class _Done:
    """A process has judged what it was handed, but for these."""

    undecided: Sequence[Mutant] = ()


@dataclass(frozen=True, slots=True)
class _Case:
    mutants: Sequence[Mutant]
    together: bool = False


def verdicts(
    lists: Iterable[Sequence[Mutant]], *, jobs: int, tests: Sequence[str],
    last: Iterable[Mutant] = (), known: Known | None = None,
) -> Iterator[Judged | Survey]:  # fmt: skip
    """Judge lists of mutants, and last those that are known to live. Yields surveys, too.

    Raises NotGreenError when the tests fail on the scripts as they are, or when two processes die
    of a case.
    """
    judges = [_Process((tuple(tests), known or Known())) for _ in range(jobs)]
    try:
        yield from _lead(lists, last, judges)
    finally:
        for judge in judges:
            judge.end()


def _lead(
    lists: Iterable[Sequence[Mutant]], last: Iterable[Mutant], judges: Sequence[_Process]
) -> Iterator[Judged | Survey]:
    """Hand out cases, one to a process; yield what is judged."""
    alone, waiting = deque(lists), list(last)
    while alone or waiting or any(judge.case for judge in judges):
        for judge in judges:
            if judge.case is None and (alone or waiting):
                batch = one_of_each_file(waiting, _TOGETHER)
                together = len(batch) == _TOGETHER or not alone
                if together:
                    waiting = [mutant for mutant in waiting if mutant not in batch]
                judge.take(_Case(batch if together else alone.popleft(), together))
        for result in _told(judges):
            if isinstance(result, _Done):
                waiting += result.undecided
            elif not isinstance(result, _Ready):
                yield result


def one_of_each_file(mutants: Iterable[Mutant], most: int) -> list[Mutant]:
    """Return the first mutant of each file: two of one might hide each other."""
    found: dict[str, Mutant] = {}
    for mutant in mutants:
        if len(found) < most:
            found.setdefault(mutant.file, mutant)
    return list(found.values())


def _told(judges: Sequence[_Process]) -> Iterator[Judged | Survey | _Done | _Ready]:
    """Wait for what processes tell; those that have died begin their case again."""
    by_end = {judge.end_here: judge for judge in judges}
    for end in wait(list(by_end)):
        judge = by_end[end]  # type: ignore[index]
        try:
            result = judge.end_here.recv()
        except (EOFError, OSError):
            judge.begin_again()
            continue
        if isinstance(result, _Failure):
            raise NotGreenError(result.text)
        judge.hear(result)
        yield result


class _Process:
    """A process that judges one case at a time. case: the one it has been handed."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self._arguments = arguments
        self._died = 0
        self._ready = False
        self.case: _Case | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.end_here, there = context.Pipe()
        self._process = context.Process(target=_work, args=(there, *self._arguments), daemon=True)
        self._process.start()
        self._ready = False
        there.close()

    def take(self, case: _Case) -> None:
        self.case, self._died = case, 0
        self._hand_over()

    def hear(self, result: Judged | Survey | _Done | _Ready) -> None:
        """Keep of the case what is not judged yet."""
        if isinstance(result, _Ready):
            self._ready = True
            self._hand_over()
        elif isinstance(result, _Done):
            self.case = None
        elif not isinstance(result, Survey) and self.case is not None:
            left = [mutant for mutant in self.case.mutants if mutant != result[0]]
            self.case = replace(self.case, mutants=left)

    def begin_again(self) -> None:
        """Take a new process in the place of one that has died, for the rest of its case."""
        self._process.join()
        self._died += 1
        if self._died > 1:
            mutants = self.case.mutants if self.case else ()
            named = [f"{mutant.file}:{mutant.line}" for mutant in mutants]
            raise NotGreenError(f"processes died ({self._process.exitcode}) judging {named}")
        self.end_here.close()
        self._start()

    def _hand_over(self) -> None:
        if self.case is None or not self._ready:
            return
        self._ready = False
        with suppress(OSError):  # it has died, and is noticed as one that has
            self.end_here.send(self.case)

    def end(self) -> None:
        self._process.terminate()
        self._process.join()


def _work(cases: Connection, tests: Sequence[str], known: Known) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.stdout.flush()
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)  # pytest has nothing to tell

    def judge_all(judge: Judge) -> None:
        while True:
            cases.send(_Ready())
            case: _Case = cases.recv()
            if case.together:
                for judged in judge.judge_together(case.mutants):
                    cases.send(judged)
            undecided = []
            for mutant in () if case.together else case.mutants:
                verdict = judge.judge(mutant, _PATIENCE)
                if verdict is None:
                    undecided.append(mutant)
                else:
                    cases.send((mutant, verdict))
            cases.send(_Done(undecided))

    try:
        run_judge(judge_all, tests, known, cases.send)
    except Exception as error:
        cases.send(_Failure(str(error)))
