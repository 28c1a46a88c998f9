"""Several processes, each with servers and tests of its own, that take scripts from one list."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.queues import Queue
from queue import Empty
from typing import Any

from tests.mutation.judge import Judge, NotGreenError, Verdict, run_judge
from tests.mutation.mutants import Mutant

# A mutant that gathers forever in a loop shall not take the machine's memory.
_MEMORY_BYTES = 4 * 2**30
_ALIVE_S = 5.0


@dataclass(frozen=True, slots=True)
class _Failure:
    text: str


def verdicts(
    lists: Sequence[Sequence[Mutant]], *, jobs: int, tests: Sequence[str]
) -> Iterator[Verdict]:
    """Judge lists of mutants, the longest first; a list stays in one process.

    Raises NotGreenError when the tests fail on the scripts as they are.
    """
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for mutants in sorted(lists, key=len, reverse=True):
        tasks.put(list(mutants))
    processes = [
        context.Process(target=_work, args=(tasks, results, tuple(tests))) for _ in range(jobs)
    ]
    for process in processes:
        tasks.put(None)
        process.start()
    try:
        for _ in range(sum(map(len, lists))):
            yield _next(results, processes)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _next(results: Queue[Any], processes: Sequence[Any]) -> Verdict:
    while True:
        try:
            result = results.get(timeout=_ALIVE_S)
        except Empty:
            if not any(process.is_alive() for process in processes):
                raise NotGreenError("every process ended before its work") from None
            continue
        if isinstance(result, _Failure):
            raise NotGreenError(result.text)
        verdict: Verdict = result
        return verdict


def _work(tasks: Queue[Any], results: Queue[Any], tests: tuple[str, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.stdout.flush()
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)  # pytest has nothing to tell

    def judge_all(judge: Judge) -> None:
        while (mutants := tasks.get()) is not None:
            for mutant in mutants:
                results.put(judge.judge(mutant))

    try:
        run_judge(judge_all, tests)
    except Exception as error:
        results.put(_Failure(str(error)))
