"""Errors, tasks, jobs and results can be pickled and copied, as pools of processes do."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle  # noqa: TID251 - what users' executors do with our objects
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import consumer
import coordinator
import queuepool
from consumer.workers.timeouts import _StrikeError
from queuepool import InvalidInputError, Job, Registry, errors
from queuepool.models import ErrorRecord, JobId, JobState, JobStatus
from queuepool.testing import MemoryPool

registry = Registry()
WHY = ErrorRecord(reason="failed", type="KeyError", message="'x'")
DEAD = JobStatus(job_id=JobId("j1"), state=JobState.DEAD, partition=0, error=WHY)


@registry.task
def greet(name: str) -> str:
    return f"Hello, {name}"


# What each parameter of an error takes, by its annotation.
SAMPLES: dict[str, Any] = {
    "str": "text", "int": 3, "float": 2.5, "bool": True, "Path": Path("/x"), "JobStatus": DEAD,
    "Sequence[str]": ["b"], "float | timedelta": 30, "BaseException": RuntimeError("no memory"),
}  # fmt: skip
OPTIONS: dict[type, dict[str, Any]] = {
    errors.RetryLater: {"delay_s": 3},
    errors.BadPayloadError: {"argument": "name"},
}


def made(kind: Any) -> Any:
    if not inspect.isfunction(kind.__init__):
        return kind("what went wrong")
    taken = inspect.signature(kind).parameters.values()
    if [p.kind for p in taken] == [inspect.Parameter.VAR_POSITIONAL]:
        return kind("one", "two")
    given = {p.name: SAMPLES[p.annotation] for p in taken if p.default is p.empty}
    return kind(**given | OPTIONS.get(kind, {}))


def modules() -> Iterator[ModuleType]:
    for package in (queuepool, consumer, coordinator):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def every_error() -> list[type]:
    names = {module.__name__ for module in modules()}
    found = {e for e in subclasses(errors.QueuePoolError) if e.__module__ in names}
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))


def by_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("again", [by_pickle, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("kind", every_error())
def test_an_error_survives(kind: Any, again: Callable[[Any], Any]) -> None:
    error = made(kind)
    error.add_note("during a test")

    found = again(error)

    assert type(found) is (errors.JobTimeoutError if kind is _StrikeError else kind)
    assert str(found) == str(error)
    assert found.args == error.args
    assert repr(vars(found)) == repr(vars(error))


def test_a_task_and_its_jobs_are_pickled_by_reference() -> None:
    job: Job[str] = greet.job(name="Ada").with_options(tier="high")

    assert by_pickle(greet) is copy.copy(greet) is copy.deepcopy(greet) is greet
    assert by_pickle(job) == job
    assert by_pickle(job).task is greet


@pytest.mark.parametrize("kept", ["all", "failures"])
def test_results_are_data_elsewhere_and_say_so(kept: Any) -> None:
    with MemoryPool(registry=registry) as pool:
        jobs = [greet.job(name="Ada").with_options(job_id=f"j{n % 2}") for n in range(3)]
        results = pool.enqueue_many(jobs, partition_key="a", results=kept)

    found = by_pickle(by_pickle(results))

    assert list(found) == list(results)
    assert repr(found) == repr(results)
    assert [str(each.status) for each in found][-1] == "duplicate"
    with pytest.raises(InvalidInputError, match=r"no pool for job j0: use pool\.job"):
        found[-1].result()
    assert results[-1].job.job_id == "j0"


def test_results_elsewhere_name_their_batch() -> None:
    after = queuepool.After(greet.job(name="all"))
    with MemoryPool(registry=registry) as pool:
        results = pool.enqueue_many([greet.job(name="Ada")], partition_key="a", then=after)

    for found in by_pickle(results), by_pickle(by_pickle(results)):
        with pytest.raises(InvalidInputError, match=f"batch {results.batch.name}, since"):
            _ = found.batch


def test_what_an_enqueue_raises_takes_its_results_along() -> None:
    with MemoryPool(registry=registry, max_depth=1) as pool:
        jobs = [greet.job(name="Ada") for _ in range(3)]
        with pytest.raises(errors.QueueFullError) as raised:
            pool.enqueue_many(jobs, partition_key="a")

    found = by_pickle(raised.value)

    assert list(found.results) == list(raised.value.results)
    assert found.results.rejected > 0
