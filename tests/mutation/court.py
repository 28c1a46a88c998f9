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
from dataclasses import dataclass
from multiprocessing.queues import Queue
from queue import Empty
from typing import Any

from tests.mutation.judge import Judge, Known, Survey, Verdict, run_judge
from tests.mutation.mutants import Mutant
from tests.mutation.runner import NotGreenError

# A mutant that gathers forever in a loop shall not take the machine's memory.
_MEMORY_BYTES = 4 * 2**30
_ALIVE_S = 5.0
_PATIENCE = 0.1  # of the time that all tests of a mutant take
_TOGETHER = 16

Judged = tuple[Mutant, Verdict]


@dataclass(frozen=True, slots=True)
class _Failure:
    text: str


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

    Raises NotGreenError when the tests fail on the scripts as they are.
    """
    context = multiprocessing.get_context("spawn")
    cases, results = context.Queue(), context.Queue()
    arguments = (cases, results, tuple(tests), known or Known())
    processes = [context.Process(target=_work, args=arguments) for _ in range(jobs)]
    for process in processes:
        process.start()
    try:
        yield from _lead(lists, last, cases, results, processes)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _lead(
    lists: Iterable[Sequence[Mutant]], last: Iterable[Mutant],
    cases: Queue[Any], results: Queue[Any], processes: Sequence[Any],
) -> Iterator[Judged | Survey]:  # fmt: skip
    """Hand out cases, one to a process; yield what is judged."""
    alone, waiting, busy = deque(lists), list(last), 0
    while busy or alone or waiting:
        while busy < len(processes) and (alone or waiting):
            batch = one_of_each_file(waiting, _TOGETHER)
            if len(batch) == _TOGETHER or not alone:
                waiting = [mutant for mutant in waiting if mutant not in batch]
                cases.put(_Case(batch, together=True))
            else:
                cases.put(_Case(alone.popleft()))
            busy += 1
        result = _next(results, processes)
        if isinstance(result, _Done):
            busy -= 1
            waiting += result.undecided
        else:
            yield result


def one_of_each_file(mutants: Iterable[Mutant], most: int) -> list[Mutant]:
    """Return the first mutant of each file: two of one might hide each other."""
    found: dict[str, Mutant] = {}
    for mutant in mutants:
        if len(found) < most:
            found.setdefault(mutant.file, mutant)
    return list(found.values())


def _next(results: Queue[Any], processes: Sequence[Any]) -> Judged | Survey | _Done:
    while True:
        try:
            result = results.get(timeout=_ALIVE_S)
        except Empty:
            if not any(process.is_alive() for process in processes):
                raise NotGreenError("every process ended before its work") from None
            continue
        if isinstance(result, _Failure):
            raise NotGreenError(result.text)
        found: Judged | Survey | _Done = result
        return found


def _work(cases: Queue[Any], results: Queue[Any], tests: Sequence[str], known: Known) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.stdout.flush()
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)  # pytest has nothing to tell

    def judge_all(judge: Judge) -> None:
        while True:
            case: _Case = cases.get()
            if case.together:
                for judged in judge.judge_together(case.mutants):
                    results.put(judged)
            undecided = []
            for mutant in () if case.together else case.mutants:
                verdict = judge.judge(mutant, _PATIENCE)
                if verdict is None:
                    undecided.append(mutant)
                else:
                    results.put((mutant, verdict))
            results.put(_Done(undecided))

    try:
        run_judge(judge_all, tests, known, results.put)
    except Exception as error:
        results.put(_Failure(str(error)))
