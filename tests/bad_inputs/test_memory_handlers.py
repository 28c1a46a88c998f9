"""The same handlers where users test theirs: what they do is in the report, never raised."""

import pytest

from queuepool.models import JobState
from queuepool.tasks.registry import default_registry
from queuepool.testing import MemoryPool, run_jobs
from tests.bad_inputs import app

TEXT_LIMIT = 4096
OWN = {"raises", "raises_async", "returns", "returns_async", "recurse", "long_traceback"}


@pytest.fixture
def pool() -> MemoryPool:
    assert {task.name for task in default_registry} >= OWN
    return MemoryPool(registry=default_registry)


@pytest.mark.parametrize("task", ["raises", "raises_async"])
@pytest.mark.parametrize("what", [what for what in app.RAISES if what != "KeyboardInterrupt"])
def test_whatever_is_raised_is_in_the_report(pool: MemoryPool, task: str, what: str) -> None:
    job = pool.enqueue(task, {"what": what}, partition_key="g")

    (ended,) = run_jobs(pool).ended

    assert ended.state is JobState.DEAD
    status = pool.status(job.job_id, partition_key="g")
    assert status.error is not None
    error = status.error
    assert error.reason == "failed"
    assert 0 < len(error.type + error.message + error.traceback) <= TEXT_LIMIT


@pytest.mark.parametrize("task", ["returns", "returns_async"])
@pytest.mark.parametrize("what", app.RETURNS)
def test_whatever_is_no_result_is_in_the_report(pool: MemoryPool, task: str, what: str) -> None:
    pool.enqueue(task, {"what": what}, partition_key="g")

    (ended,) = run_jobs(pool).ended

    assert ended.state is JobState.DEAD
    assert ended.error is not None
    assert ended.error.reason == ("permanent" if what in app.UNRUN else "bad-result")


@pytest.mark.parametrize(
    ("task", "kind"), [("recurse", "RecursionError"), ("long_traceback", "ZeroDivisionError")]
)
def test_a_text_of_any_length_is_cut(pool: MemoryPool, task: str, kind: str) -> None:
    job = pool.enqueue(task, partition_key="g")

    run_jobs(pool)

    error = pool.status(job.job_id, partition_key="g").error
    assert error is not None
    assert error.type == kind
    assert len(error.message + error.traceback) <= TEXT_LIMIT


def test_a_ctrl_c_gets_out(pool: MemoryPool) -> None:
    pool.enqueue("raises", {"what": "KeyboardInterrupt"}, partition_key="g")

    with pytest.raises(KeyboardInterrupt):
        run_jobs(pool)
