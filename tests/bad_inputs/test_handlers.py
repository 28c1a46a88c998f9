"""Handlers that do their worst in a real consumer: their attempt fails, and everybody else goes on.

The worker count is looked at afterwards, since a worker that died would be missed by no one else.
"""

from pathlib import Path
from typing import Any

import pytest

from queuepool.client.pool import QueuePool
from queuepool.models import JobState, JobStatus
from queuepool.partitions.partition import Partition
from tests.bad_inputs import app
from tests.bad_inputs.conftest import StartConsumer
from tests.integration.consumer.processes import ConsumerProcess, drained
from tests.waiting import wait_until

WORKERS = 4
TEXT_LIMIT = 4096
CALM = {
    "modify": {"rows": [1, 2], "rest": {"a": {"b": 1}}},
    "own_loop": "ran",
    "swallow_timeout": "caught 1",
    "swallow_cancel": "went on",
    "tasks_left": "left",
    "tasks_left_async": "left",
    "stop_loop": "stopped",
    "block_signals": None,
    "print_much": None,
    "break_logging": None,
}
FAILING = {
    "forever": "JobTimeoutError",
    "change_signals": "ValueError",
    "strike_itself": "KeyboardInterrupt",
    "recurse": "RecursionError",
    "long_traceback": "ZeroDivisionError",
}
TYPES: dict[tuple[str, ...], str] = {  # where it is not the name of what was raised
    ("Unnamed",): "RuntimeError",
    ("surrogate",): "OSError",
    ("ten megabytes",): "ValueError",
    ("group of groups",): "ExceptionGroup",
    ("RetryLater without delay",): "RuntimeError",
    ("raises_async", "StopIteration"): "RuntimeError",
    ("raises_async", "CancelledError"): "RuntimeError",
}
PAYLOADS: dict[str, dict[str, Any]] = {
    "modify": {"rows": [1, 2], "a": {"b": 1}},
    "print_much": {"megabytes": 20},
}


def enqueue(pool: QueuePool, task: str, payload: dict[str, Any] | None = None) -> str:
    return pool.enqueue(task, payload, partition_key="g").job_id


def ended(pool: QueuePool, job_id: str) -> JobStatus:
    """Wait for the end of a job."""
    over = (JobState.DONE, JobState.DEAD)
    wait_until(lambda: pool.status(job_id, partition_key="g").state in over, 60.0, job_id)
    return pool.status(job_id, partition_key="g")


def others_go_on(pool: QueuePool, partition: Partition, process: ConsumerProcess) -> None:
    """Assert that plain and async jobs still run, on all workers, and that it stops well."""
    jobs = [enqueue(pool, task) for task in ("work", "short_nap") * 10]
    assert {ended(pool, job_id).state for job_id in jobs} == {JobState.DONE}
    wait_until(lambda: workers(partition) == WORKERS, message="all workers of an owner")
    assert process.stop() == 0


def workers(partition: Partition) -> int:
    """Return how many workers the owner says it has; none while its lease is over."""
    owner = partition.observe().owner
    return owner.workers if owner is not None else 0


def error_text(partition: Partition) -> dict[str, str]:
    """Return type, message and traceback of every dead job, in one text a job."""
    dead = partition.dead(0, 200)
    return {j.job_id: j.error.type + j.error.message + j.error.traceback for j in dead}


def test_whatever_is_raised_fails_the_attempt_alone(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    kinds = [(task, what) for task in ("raises", "raises_async") for what in app.RAISES]
    jobs = {enqueue(pool, task, {"what": what}): (task, what) for task, what in kinds}
    process = consume(workers=WORKERS)

    for job_id, kind in jobs.items():
        status = ended(pool, job_id)
        assert status.state is JobState.DEAD, kind
        assert status.error is not None
        assert status.error.reason == "failed", kind
        assert status.error.type == TYPES.get(kind, TYPES.get(kind[1:], kind[1])), kind
        assert status.attempts == 1

    texts = error_text(partition)
    assert texts.keys() == jobs.keys()
    assert max(map(len, texts.values())) <= TEXT_LIMIT
    assert all(texts.values())
    others_go_on(pool, partition, process)


def test_whatever_is_returned_and_is_no_result_fails_the_attempt_alone(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    kinds = [(task, what) for task in ("returns", "returns_async") for what in app.RETURNS]
    jobs = {enqueue(pool, task, {"what": what}): (task, what) for task, what in kinds}
    process = consume(workers=WORKERS)

    for job_id, kind in jobs.items():
        status = ended(pool, job_id)
        assert status.error is not None, kind
        assert status.error.reason == ("permanent" if kind[1] in app.UNRUN else "bad-result"), kind
    assert max(map(len, error_text(partition).values())) <= TEXT_LIMIT
    others_go_on(pool, partition, process)


def test_bad_manners_do_no_harm(
    pool: QueuePool, partition: Partition, consume: StartConsumer
) -> None:
    process = consume(workers=WORKERS)
    jobs = {task: enqueue(pool, task, PAYLOADS.get(task)) for task in [*CALM, *FAILING]}

    for task, result in CALM.items():
        status = ended(pool, jobs[task])
        assert (status.state, status.result) == (JobState.DONE, result), (task, status.error)
    for task, kind in FAILING.items():
        error = ended(pool, jobs[task]).error
        assert error is not None
        assert error.type == kind, task
    assert max(map(len, error_text(partition).values())) <= TEXT_LIMIT
    others_go_on(pool, partition, process)


@pytest.mark.parametrize(
    ("task", "payload"), [("threads_left", {"count": 4}), ("close_output", None)]
)
def test_what_a_handler_leaves_behind_keeps_no_process_from_ending(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    task: str,
    payload: dict[str, Any] | None,
) -> None:
    process = consume(workers=WORKERS)
    assert ended(pool, enqueue(pool, task, payload)).state is JobState.DONE

    assert ended(pool, enqueue(pool, "raises", {"what": "Silent"})).state is JobState.DEAD
    others_go_on(pool, partition, process)


def test_a_blocked_event_loop_holds_up_async_jobs_alone(
    pool: QueuePool, partition: Partition, consume: StartConsumer, tmp_path: Path
) -> None:
    process = consume(workers=WORKERS)
    blocking = enqueue(pool, "block_loop", {"gate": "open"})
    wait_until((tmp_path / "open-begun").exists, 60.0)
    held_up = enqueue(pool, "short_nap")
    plain = [enqueue(pool, "work") for _ in range(20)]

    assert {ended(pool, job_id).state for job_id in plain} == {JobState.DONE}
    assert pool.status(held_up, partition_key="g").state is JobState.IN_FLIGHT
    (tmp_path / "open").touch()
    assert ended(pool, blocking).state is JobState.DONE
    assert ended(pool, held_up).state is JobState.DONE
    others_go_on(pool, partition, process)


@pytest.mark.parametrize(
    ("task", "payload"),
    [("end_process", None), ("close_files", None), ("low_recursion_limit", {"limit": 30})],
)
def test_what_breaks_the_whole_process_counts_as_a_crash_of_its_job(
    pool: QueuePool,
    partition: Partition,
    consume: StartConsumer,
    task: str,
    payload: dict[str, Any] | None,
) -> None:
    first = consume(workers=WORKERS, lease_s=1, max_crashes=1)
    first.owns(partition)
    bad = enqueue(pool, task, payload)

    assert first.ends(60.0) not in (0, 2)
    good = pool.enqueue_many("work", [{}] * 20, partition_key="g")
    second = consume(workers=WORKERS, lease_s=1, max_crashes=1)

    drained(partition, len(good))
    status = ended(pool, bad)
    if task == "close_files" and status.state is JobState.DONE:
        assert status.crashes == 0  # it returned, and a new connection said so before all was lost
    else:
        assert (status.state, status.crashes) == (JobState.DEAD, 1)
        assert status.error is not None
        assert status.error.reason == "crashed"
    others_go_on(pool, partition, second)
