"""Jobs of a task that the consumer does not know wait for one that does: a rolling deployment."""

from pathlib import Path

import pytest

from queuepool import JobState, QueuePool
from queuepool.cli.display.board import unknown
from tests.integration.consumer.processes import ConsumerProcess
from tests.paths import ROOT
from tests.waiting import wait_until

APP = """
from queuepool import task

@task(name="old")
def old() -> None: ...
"""
NEWER = """
from pathlib import Path
from queuepool import task

@task(name="new", max_attempts=1)
def new(n: int) -> int:
    with Path("ran.txt").open("a") as file:
        file.write(f"{n}\\n")
    return n
"""


@pytest.fixture
def pool(redis_url: str, stage: str, monkeypatch: pytest.MonkeyPatch) -> QueuePool:
    monkeypatch.setenv("QUEUEPOOL_URL", redis_url)
    monkeypatch.setenv("QUEUEPOOL_STAGE", stage)
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "1")
    return QueuePool.from_env()


def consumer(pool: QueuePool, directory: Path, app: str) -> ConsumerProcess:
    url, stage = pool.config.topology.servers["main"], pool.config.keyspace.stage
    environment = {"PYTHONPATH": f"{directory}:{ROOT}"}
    return ConsumerProcess(
        url, stage, directory, environment=environment, app=app, workers=1, max_workers=1
    )


def test_jobs_of_a_new_task_wait_uncharged_and_run_once_its_consumer_takes_over(
    pool: QueuePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app_of_old.py").write_text(APP)
    (tmp_path / "app_of_new.py").write_text(APP + NEWER)
    partition = pool.partition(0)
    with pool:
        first = consumer(pool, tmp_path, "app_of_old")
        try:
            jobs = pool.enqueue_many(
                "new", [{"n": n} for n in range(500)], partition_key="k", max_attempts=1
            )
            wait_until(lambda: partition.observe().aside == 500)
            seen, job = partition.observe(), pool.status(jobs[0].job_id, partition_key="k")
            old = pool.enqueue("old", partition_key="other")
            wait_until(
                lambda: pool.status(old.job_id, partition_key="other").state is JobState.DONE
            )  # others are not held up
        finally:
            first.popen.terminate()
            first.popen.wait(60)

        assert seen.aside_tasks == ("new",)
        assert seen.counters.get("failed", 0) == 0
        assert job.error is not None
        assert job.error.reason == "unknown-task"
        assert first.log.count("no task named 'new' is registered here") == 1

        waited = partition.observe().aside
        second = consumer(pool, tmp_path, "app_of_new")
        try:
            wait_until(lambda: pool.group("k").status().done == 500)
        finally:
            second.popen.terminate()
            second.popen.wait(60)
        after = partition.observe()

    assert (after.aside, after.delayed, after.dead) == (0, 0, 0)
    known = f"task 'new' is now registered: {waited} of its waiting jobs are due"
    assert second.log.count(known) == 1
    ran = [int(line) for line in (tmp_path / "ran.txt").read_text().split()]
    assert sorted(ran) == list(range(500))
    first_run = ran.index(0)  # a takeover during a round begins where that stood
    assert ran[first_run:] + ran[:first_run] == list(range(500))


def test_what_waits_is_told_in_words_with_the_remedy() -> None:
    text = unknown(1_200, [f"t{n}" for n in range(9)])

    assert text.startswith("1,200 jobs wait for a consumer with their task ('t0', 't1'")
    assert "'t4', ..." in text
    assert "--app" in text
