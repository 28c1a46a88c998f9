"""Log lines of handlers tell which job they are of, wherever the handler runs."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from queuepool import JobLogFilter, PermanentError, job_fields, task
from queuepool.telemetry.logs import JsonFormatter
from queuepool.testing.pool import MemoryPool
from queuepool.testing.running import run_jobs
from tests.unit.consumer.workers.executing import OWNERSHIP, Bench

_log = logging.getLogger("shop")
WANTED = {
    "job": "job-1",
    "task": "t",
    "attempt": 3,
    "group": "group-\\xff",
    "partition": OWNERSHIP.partition,
}


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.addFilter(JobLogFilter())

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    _log.addHandler(handler)
    yield handler
    _log.removeHandler(handler)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name in WANTED}


def test_a_line_of_a_handler_names_its_job(bench: Bench, lines: Lines) -> None:
    bench.run(lambda: _log.warning("sending"), attempt=3)
    _log.warning("between jobs")

    assert [fields_of(record) for record in lines.records] == [WANTED, {}]


def test_so_does_one_of_a_coroutine_and_of_a_thread_in_its_context(
    bench: Bench, lines: Lines
) -> None:
    async def handler() -> None:
        _log.warning("sending")
        await asyncio.to_thread(_log.warning, "from a thread")

    bench.run(handler, attempt=3)

    assert [fields_of(record) for record in lines.records] == [WANTED, WANTED]


def test_a_handler_that_raised_leaves_nothing_behind(bench: Bench) -> None:
    seen: list[dict[str, Any]] = []

    def handler() -> None:
        seen.append(job_fields())
        raise PermanentError("no")

    bench.run(handler, attempt=3)

    assert seen == [WANTED]
    assert job_fields() == {}


def test_other_threads_run_other_jobs(bench: Bench) -> None:
    seen: list[dict[str, Any]] = []

    def handler() -> None:
        thread = threading.Thread(target=lambda: seen.append(job_fields()))
        thread.start()
        thread.join()

    bench.run(handler)

    assert seen == [{}]


def test_what_a_line_says_itself_is_kept(bench: Bench, lines: Lines) -> None:
    bench.run(lambda: _log.warning("sending", extra={"task": "mine"}), attempt=3)

    [record] = lines.records
    assert fields_of(record) == WANTED | {"task": "mine"}
    assert '"task":"mine"' in JsonFormatter().format(record).replace(" ", "")


def test_jobs_that_tests_run_have_it_too_with_the_tenant() -> None:
    seen: list[dict[str, Any]] = []

    @task(name="tell-where")
    def tell_where() -> None:
        seen.append(job_fields())

    with MemoryPool() as pool:
        job = pool.enqueue(tell_where.job(), partition_key="k", tenant="acme")
        run_jobs(pool)

    assert seen == [
        {"job": job.job_id, "task": "tell-where", "attempt": 1, "group": "k", "partition": 0}
        | {"tenant": "acme"}
    ]
    assert job_fields() == {}
