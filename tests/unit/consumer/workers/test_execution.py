"""One execution: whatever a handler does, it ends as one outcome."""

import functools
import gc
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from time import monotonic
from typing import Any

import pytest

from consumer.core.jobs import End
from consumer.workers.unknown import UnknownTasks
from queuepool import JobContext
from queuepool.errors import (
    InvalidInputError,
    JobCancelled,
    PermanentError,
    RateLimited,
    RetryLater,
    UnknownTaskError,
)
from queuepool.protocol import codec
from queuepool.tasks.backoff import Backoff
from tests.unit.consumer.workers.executing import Bench, error_of, make_body, make_job, raising

# -- its arguments ---------------------------------------------------------------------------------


def test_arguments_are_what_they_are_annotated_with(bench: Bench) -> None:
    def handler(ctx: JobContext, at: datetime, price: Decimal, n: int, raw: Any) -> list[Any]:
        return [at.year, str(price + 1), n + 1, raw, ctx.job_id]

    payload = {"at": datetime(2026, 1, 2, tzinfo=UTC), "price": "1.5", "n": "7", "raw": "7"}
    outcome = bench.run(handler, payload)

    assert json.loads(outcome.result or b"") == [2026, "2.5", 8, "7", "job-1"]


def test_a_payload_that_does_not_fit_is_dead_at_once_and_not_called(bench: Bench) -> None:
    def handler(n: int) -> None:
        raise AssertionError("called")

    outcome = bench.run(handler, {"n": "seven"}, max_attempts=5)

    assert (outcome.end, outcome.reason) == (End.BURY, "bad-payload")
    assert error_of(outcome)["message"].startswith(
        "task 't': argument 'n' must be int and is 'seven'"
    )


def test_a_bad_call_within_a_handler_is_no_bad_payload_of_its_own_job(bench: Bench) -> None:
    def handler() -> None:
        raise InvalidInputError("task 'other' misses 'n'")

    assert bench.run(handler).end is End.RETRY


def test_a_start_that_cannot_be_told_to_the_hooks_is_no_end_of_its_job(bench: Bench) -> None:
    told = list[Any]()

    def tell(attempt: Any) -> None:
        told.append(attempt.job.id)
        raise RuntimeError("can't start new thread")

    bench.runner._on_start = tell
    bench.registry.hooks.before(print)
    bench.registry.task(name="t")(lambda: 7)

    outcome = bench.execute(make_job(make_body("t", {})))

    assert (outcome.end, outcome.result, told) == (End.DONE, b"7", [b"job-1"])


@pytest.mark.parametrize("payload", [{}, {"n": 1, "new": 2}])
def test_arguments_too_many_or_too_few_are_a_failure_to_be_retried(
    bench: Bench, payload: dict[str, Any]
) -> None:
    def handler(n: int) -> None: ...

    outcome = bench.run(handler, payload)

    assert (outcome.end, outcome.reason) == (End.RETRY, "failed")
    assert error_of(outcome)["type"] == "TypeError"


# -- it returns -----------------------------------------------------------------------------------


def test_none_is_done_without_a_result(bench: Bench) -> None:
    outcome = bench.run(lambda: None)
    assert (outcome.end, outcome.result, outcome.task) == (End.DONE, None, "t")


@pytest.mark.parametrize("value", [0, False, "", [], {"a": [1, None]}, 1.5])
def test_a_value_is_kept_as_json_for_its_time(bench: Bench, value: object) -> None:
    outcome = bench.run(lambda: value, result_ttl_s=60)
    assert outcome.end is End.DONE
    assert json.loads(outcome.result or b"null") == value
    assert outcome.result_ttl_ms == 60_000


def test_a_value_is_not_kept_when_the_task_keeps_none(bench: Bench) -> None:
    outcome = bench.run(lambda: {"a": 1}, result_ttl_s=0)
    assert (outcome.end, outcome.result) == (End.DONE, None)


@pytest.mark.parametrize("value", [object(), {1: object()}, "\ud800", lambda: 0])
def test_a_value_that_is_no_json_is_a_failure(bench: Bench, value: object) -> None:
    outcome = bench.run(lambda: value)
    assert (outcome.end, outcome.reason) == (End.RETRY, "bad-result")


def plainly(function: Any) -> Any:
    """Decorate an `async def` without awaiting it."""

    @functools.wraps(function)
    def wrapper() -> Any:
        return function()

    return wrapper


async def never() -> None:
    raise AssertionError("ran")


async def never_iterated() -> AsyncIterator[int]:
    yield 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (plainly(never), "of type coroutine, which nobody runs, so its work was not done: await"),
        (plainly(never_iterated), "of type async_generator, .* return a list"),
        (lambda: (n for n in range(3)), "of type generator, .* return a list"),
    ],
    ids=["coroutine", "async generator", "generator"],
)
@pytest.mark.parametrize("timeout_s", [None, 60])
def test_what_is_still_to_be_run_is_dead_at_once(
    bench: Bench, handler: Any, words: str, timeout_s: float | None
) -> None:
    outcome = bench.run(handler, timeout_s=timeout_s, max_attempts=5)
    gc.collect()  # where an unawaited coroutine would warn

    assert (outcome.end, outcome.reason) == (End.BURY, "permanent")
    assert re.search(words, error_of(outcome)["message"])


def test_an_object_whose_call_is_async_is_awaited(bench: Bench) -> None:
    class Adder:
        async def __call__(self, n: int) -> int:
            return n + 1

    assert bench.run(Adder(), {"n": 1}).result == b"2"


def test_a_wrong_call_of_the_handler_is_no_bad_result(bench: Bench) -> None:
    def handler() -> None:
        raise InvalidInputError("no such customer")

    outcome = bench.run(handler)

    assert (outcome.end, outcome.reason) == (End.RETRY, "failed")


def test_the_payload_arrives_as_keyword_arguments(bench: Bench) -> None:
    got: list[Any] = []

    def handler(a: int, *, b: str = "default", **rest: object) -> None:
        got.append((a, b, rest))

    bench.run(handler, {"a": 1, "c": [2]})
    assert got == [(1, "default", {"c": [2]})]


# -- it raises ------------------------------------------------------------------------------------


def test_an_exception_is_retried_with_backoff_and_told_in_full(bench: Bench) -> None:
    backoff = Backoff(base_s=4, floor_s=0.5, cap_s=100)
    delays = [
        bench.run(raising(ValueError("no such row")), attempt=2, backoff=backoff).delay_ms
        for _ in range(200)
    ]
    outcome = bench.run(raising(ValueError("no such row")), attempt=2)

    assert (outcome.end, outcome.charged, outcome.reason) == (End.RETRY, True, "failed")
    error = error_of(outcome)
    assert (error["type"], error["message"]) == ("ValueError", "no such row")
    assert "executing.py" in error["traceback"]
    assert min(delays) >= 500
    assert max(delays) <= 8000
    assert len(set(delays)) > 50  # jitter


@pytest.mark.parametrize("timeout_s", [None, 9])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_traceback_begins_with_the_handler(
    bench: Bench, is_async: bool, timeout_s: float | None
) -> None:
    async def fail_later() -> None:
        raising(OSError("no disk"))()

    plain = raising(OSError("no disk"))
    outcome = bench.run(fail_later if is_async else plain, timeout_s=timeout_s)

    lines = error_of(outcome)["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith("in fail_later" if is_async else "in handler")
    assert lines[-1] == "OSError: no disk"


def test_a_traceback_of_what_a_worker_raises_itself_is_whole(bench: Bench) -> None:
    def handler(n: int) -> None: ...

    lines = error_of(bench.run(handler, {}))["traceback"].splitlines()
    assert lines[1].endswith("in _run")
    assert lines[-1].startswith("TypeError")


@pytest.mark.parametrize(
    ("attempt", "end"), [(1, End.RETRY), (2, End.RETRY), (3, End.BURY), (7, End.BURY)]
)
def test_the_last_attempt_buries(bench: Bench, attempt: int, end: End) -> None:
    assert bench.run(raising(OSError()), attempt=attempt, max_attempts=3).end is end


def test_what_the_producer_allowed_comes_before_what_the_task_allows(bench: Bench) -> None:
    options = codec.Options(max_attempts=1)
    assert bench.run(raising(OSError()), options=options, max_attempts=9).end is End.BURY


def test_a_very_late_attempt_still_has_a_finite_delay(bench: Bench) -> None:
    outcome = bench.run(raising(OSError()), attempt=10**6, max_attempts=2**31 - 1)
    assert outcome.end is End.RETRY
    assert outcome.delay_ms <= 600_000


def test_a_permanent_error_buries_at_once(bench: Bench) -> None:
    outcome = bench.run(raising(PermanentError("account closed")))
    assert (outcome.end, outcome.reason) == (End.BURY, "permanent")
    assert error_of(outcome)["message"] == "account closed"


@pytest.mark.parametrize("attempt", [1, 5, 500])
def test_retry_later_is_delayed_and_never_charged(bench: Bench, attempt: int) -> None:
    outcome = bench.run(raising(RetryLater(12.5)), attempt=attempt, max_attempts=2)
    assert (outcome.end, outcome.charged, outcome.delay_ms) == (End.RETRY, False, 12_500)
    assert outcome.slow_ms == 0


@pytest.mark.parametrize("wait", [2.5, timedelta(seconds=2.5)])
def test_rate_limited_is_delayed_as_long_as_its_limits(bench: Bench, wait: Any) -> None:
    outcome = bench.run(raising(RateLimited(wait)), attempt=5, max_attempts=2)
    assert (outcome.end, outcome.charged, outcome.delay_ms) == (End.RETRY, False, 2500)
    assert outcome.slow_ms == 2500


@pytest.mark.parametrize(("asked", "end"), [(True, End.CANCELLED), (False, End.RETRY)])
def test_job_cancelled_counts_only_when_it_was_asked_for(
    bench: Bench, asked: bool, end: End
) -> None:
    job = make_job(make_body("t", {}))

    def stops() -> None:
        job.cancelled = asked
        raise JobCancelled("stopped")

    bench.registry.task(name="t")(stops)
    assert bench.execute(job).end is end


@pytest.mark.parametrize(
    "error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit(), MemoryError(), StopIteration()]
)
def test_no_exception_escapes_not_even_those_that_end_programs(
    bench: Bench, error: BaseException
) -> None:
    outcome = bench.run(raising(error))
    assert (outcome.end, outcome.reason) == (End.RETRY, "failed")
    assert error_of(outcome)["type"] == type(error).__name__


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()])
def test_nor_do_they_out_of_an_async_handler(bench: Bench, error: BaseException) -> None:
    async def handler() -> None:
        raise error

    assert bench.run(handler).reason == "failed"
    assert bench.run(handler).reason == "failed"  # the loop lives on


def test_an_exception_whose_text_cannot_be_made_is_still_told(bench: Bench) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

        __repr__ = __str__

    outcome = bench.run(raising(MuteError()))
    assert outcome.end is End.RETRY
    assert "MuteError" in error_of(outcome)["message"]


def test_a_text_that_is_not_a_text_is_still_told(bench: Bench) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            return 7  # type: ignore[return-value]  # noqa: PLE0307

    assert "OddError" in error_of(bench.run(raising(OddError())))["message"]


def test_a_text_with_lone_surrogates_is_still_told(bench: Bench) -> None:
    outcome = bench.run(raising(FileNotFoundError("caf\udce9.csv")))
    assert outcome.end is End.RETRY
    assert error_of(outcome)["message"] == "caf\\udce9.csv"


def test_a_broken_retry_later_is_a_failure(bench: Bench) -> None:
    class Later(RetryLater):
        def __init__(self) -> None:
            pass

    outcome = bench.run(raising(Later()))
    assert (outcome.end, outcome.charged, outcome.reason) == (End.RETRY, True, "failed")


def test_an_exception_of_ten_megabytes_is_cut(bench: Bench) -> None:
    outcome = bench.run(raising(ValueError("x" * 10_000_000)))
    assert len(outcome.error) <= 4096 + 200
    assert error_of(outcome)["message"].startswith("xxx")


def test_a_recursion_without_end_is_cut(bench: Bench) -> None:
    def handler() -> None:
        handler()

    outcome = bench.run(handler)
    assert error_of(outcome)["type"] == "RecursionError"
    assert len(outcome.error) <= 4096 + 400


def test_a_payload_that_does_not_fit_the_handler_is_a_failure(bench: Bench) -> None:
    outcome = bench.run(lambda a: a, {"b": 1})
    assert (outcome.end, error_of(outcome)["type"]) == (End.RETRY, "TypeError")

    async def handler(a: int) -> None: ...

    assert bench.run(handler, {"b": 1}).end is End.RETRY


# -- it cannot even begin -------------------------------------------------------------------------


def test_a_job_of_an_unknown_task_is_set_aside_for_the_next_consumer_may_know_it(
    bench: Bench,
) -> None:
    outcome = bench.execute(make_job(make_body("nobody", {}), attempt=1_000))

    assert (outcome.end, outcome.reason, outcome.aside) == (End.RETRY, "unknown-task", "nobody")
    assert not outcome.charged
    assert outcome.delay_ms == 1_000
    assert "'nobody'" in error_of(outcome)["message"]


def test_a_handler_that_asks_for_an_unknown_task_fails_as_others_do(bench: Bench) -> None:
    def handler() -> None:
        raise UnknownTaskError("other", [])

    outcome = bench.run(handler, {})

    assert (outcome.end, outcome.charged, outcome.aside) == (End.RETRY, True, "")


def test_jobs_of_an_unknown_task_wait_longer_and_longer_and_never_overtake_each_other() -> None:
    tasks, due = UnknownTasks(), list[float]()

    for n in range(300):
        now_s = n * 0.5
        due.append(now_s + tasks.pause_s("t", now_s))

    assert due[0] == 1.0
    assert due[-1] == 299 * 0.5 + 60.0
    assert due == sorted(due)


def test_very_many_jobs_of_an_unknown_task_wait_for_a_minute_at_once() -> None:
    tasks = UnknownTasks()

    pauses = [tasks.pause_s("t", 0.0) for _ in range(100_000)]

    assert pauses == sorted(pauses)
    assert pauses[17_000:] == [60.0] * 83_000
    assert sum(pause <= 30 for pause in pauses) <= 11_001  # few are looked at again soon


def test_the_names_of_unknown_tasks_that_are_remembered_are_bounded() -> None:
    tasks = UnknownTasks()

    assert {tasks.pause_s(f"t{n}", 0.0) for n in range(1_000)} == {1.0}
    assert tasks.pause_s("one more", 0.0) == 60.0
    assert len(tasks._met) == 1_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"x",
        b"92" + make_body("t", {})[2:],
        make_body("t", {})[:-1],
        make_body("t", {})[:30],
        make_body("t", {})[:29] + b"[1,2,3]",
        b"12zzzzzzzzzzz00702ab[]",
        b"\xff" * 64,
    ],
)
def test_a_body_that_cannot_be_read_is_dead_at_once(bench: Bench, body: bytes) -> None:
    outcome = bench.execute(make_job(body))
    assert (outcome.end, outcome.reason) == (End.BURY, "undecodable")


def test_a_job_cancelled_before_it_began_is_not_run(bench: Bench) -> None:
    ran: list[int] = []
    outcome = bench.run(lambda: ran.append(1), cancelled=True)
    assert (outcome.end, ran) == (End.CANCELLED, [])


def test_nothing_starts_once_the_lease_may_be_over(bench: Bench) -> None:
    ran: list[int] = []
    bench.runner.start_until_s = monotonic() - 0.001
    outcome = bench.run(lambda: ran.append(1))
    assert (outcome.end, ran) == (End.HAND_BACK, [])
    assert outcome.job.started_s == 0.0


# -- what a handler sees --------------------------------------------------------------------------
