"""Any object as an argument of the pool: a job that is stored, or an InvalidInputError.

Never another exception, and never an error that is longer than a screen.
"""

import math
from datetime import UTC, datetime
from typing import Any, NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queuepool import InvalidInputError
from queuepool.routing.slots import SLOTS, group_of, key_bytes, partition_of, slot_of
from queuepool.tasks.backoff import Backoff
from queuepool.tasks.job import Job
from queuepool.tasks.registry import Registry, Task
from queuepool.testing import MemoryPool

LONGEST_ERROR = 2_000


class Hostile:
    """Cannot be shown, compared or counted."""

    def __repr__(self) -> NoReturn:
        raise RuntimeError("no repr")

    def __str__(self) -> NoReturn:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> NoReturn:
        raise RuntimeError("no equal")

    __hash__ = None  # type: ignore[assignment]


class HostileText(str):
    """A text that cannot be shown."""

    __slots__ = ()

    def __repr__(self) -> NoReturn:
        raise RuntimeError("no repr")


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**300),
    st.floats(),
    st.text(),
    st.text(st.characters()),  # lone surrogates as well
    st.binary(),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.just(10**5_000),
    st.just(-(10**5_000)),
    st.sampled_from(["high ", "{", "..", "a/b", "\x00", "a\r\nb", "٣", "1e3", "nan", "\ud800"]),
    st.sampled_from(
        ["<object>", "<hostile>", "<hostile text>", "<module>", "<long text>", "<long bytes>"]
    ),
)
REGISTRY = Registry()


def made(value: Any) -> Any:
    """Return what a name in angle brackets stands for: Hypothesis shows its examples, these not."""
    if not isinstance(value, str):
        return value
    odd: dict[str, Any] = {
        "<object>": object,
        "<hostile>": Hostile,
        "<module>": lambda: math,
        "<long text>": lambda: "x" * 1_000_000,
        "<long bytes>": lambda: bytes(1_000_000),
    }
    if value == "<hostile text>":
        return HostileText("text")
    return odd[value]() if value in odd else value


def refused_or(done: Any) -> bool:
    """Return whether a call was accepted; else it was refused as it should."""
    try:
        done()
    except InvalidInputError as error:
        refusal = str(error)
    else:
        return True
    assert len(refusal) < LONGEST_ERROR
    return False


@given(
    name=st.sampled_from(
        [
            "tier",
            "delay_s",
            "max_attempts",
            "timeout_s",
            "job_id",
            "partition_key",
            "run_at",
            "limit",
            "unique",
            "unique_until",
            "on_conflict",
            "expires_s",
        ]
    ),
    value=ANYTHING,
)
@example("limit", "<long text>")
@example("limit", "<hostile text>")
@example("limit", "<hostile>")
@example("unique", "<hostile>")
@example("unique_until", "<hostile>")
@example("on_conflict", "<hostile>")
@example("expires_s", "<hostile>")
@example("max_attempts", 10**5_000)
@example("tier", "<hostile text>")
def test_any_option_is_taken_or_refused(name: str, value: Any) -> None:
    pool = MemoryPool(registry=REGISTRY)
    named = {"partition_key": "g", name: made(value)}

    accepted = refused_or(lambda: pool.enqueue("t", {}, **named))

    assert pool.partition(0).observe().jobs == accepted
    if name != "run_at":
        item = Job({}, **named)
        again = refused_or(lambda: pool.enqueue_many("t", [item], partition_key="g"))
        assert pool.partition(0).observe().jobs in (accepted + again, accepted)


@given(value=ANYTHING)
@example("<hostile text>")
@example("<long text>")
@example(10**5_000)
def test_any_value_makes_limits_or_is_refused(value: Any) -> None:
    pool = MemoryPool(registry=REGISTRY)
    value, jobs = made(value), 0
    limits: list[Any] = ["x:{field}", lambda _payload: value, lambda _payload: [value], [value]]

    for limit in limits:
        jobs += refused_or(
            lambda limit=limit: pool.enqueue("t", {"field": value}, partition_key="g", limit=limit)
        )

    assert pool.partition(0).observe().jobs == jobs


@given(task=ANYTHING, payload=ANYTHING, key=ANYTHING)
def test_any_task_payload_and_key_are_taken_or_refused(task: Any, payload: Any, key: Any) -> None:
    pool = MemoryPool(registry=REGISTRY)
    task, payload, key = made(task), made(payload), made(key)

    accepted = refused_or(lambda: pool.enqueue(task, payload, partition_key=key))
    bulk = refused_or(lambda: pool.enqueue_many(task, [payload, {}], partition_key=key))

    jobs = pool.partition(0).observe().jobs
    assert accepted <= jobs <= accepted + 2
    assert jobs == accepted + 2 * bulk or not bulk


@given(value=ANYTHING)
def test_any_question_about_jobs_is_answered_or_refused(value: Any) -> None:
    pool = MemoryPool(registry=REGISTRY)
    value = made(value)

    refused_or(lambda: pool.status(value, partition_key="g"))
    refused_or(lambda: pool.cancel(value, partition_key="g"))
    refused_or(lambda: pool.status("id", partition_key=value))
    refused_or(lambda: pool.group(value).status())
    refused_or(lambda: pool.enqueue_many("t", [], partition_key="g", wait_when_full_s=value))


@given(
    name=st.sampled_from(
        ["max_attempts", "timeout_s", "backoff", "tier", "result_ttl_s", "name", "limit"]
    ),
    value=ANYTHING,
)
def test_any_option_of_a_task_is_taken_or_refused(name: str, value: Any) -> None:
    registry = Registry()
    refused_or(lambda: registry.task(**{name: made(value)})(lambda: None))

    for task in registry:
        assert isinstance(task, Task)
        assert 0 <= task.backoff.delay_s(10**6, 0.999) <= 366 * 86_400


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("base_s", "factor", "cap_s", "floor_s"), ANYTHING)
    ),
    st.integers(1, 10**9),
    st.floats(0, 1, exclude_max=True),
)
@example({"factor": math.nan}, 1, 0.5)
@example({"base_s": math.inf}, 1, 0.0)
@example({"base_s": 10**5_000}, 1, 0.5)
def test_any_backoff_is_refused_or_gives_finite_delays(
    options: dict[str, Any], attempt: int, jitter: float
) -> None:
    backoffs: list[Backoff] = []
    if refused_or(lambda: backoffs.append(Backoff(**{n: made(v) for n, v in options.items()}))):
        assert 0 <= backoffs[0].delay_s(attempt, jitter) <= 366 * 86_400


@given(key=ANYTHING, partitions=st.integers(1, 4096))
def test_any_key_has_one_partition_or_is_refused(key: Any, partitions: int) -> None:
    raw: list[bytes] = []
    key = made(key)
    if refused_or(lambda: raw.append(key_bytes(key))):
        assert key_bytes(key) == raw[0]
        assert 1 <= len(group_of(raw[0])) <= 64
        assert 0 <= slot_of(raw[0]) < SLOTS
        assert 0 <= partition_of(slot_of(raw[0]), partitions) < partitions


@pytest.mark.parametrize("year", [1, 9999])
def test_a_moment_at_the_end_of_time_is_taken_or_refused(year: int) -> None:
    pool = MemoryPool(registry=REGISTRY)
    moment = datetime(year, 6, 1, tzinfo=UTC)

    accepted = refused_or(lambda: pool.enqueue("t", partition_key="g", run_at=moment))

    assert accepted == (year == 1)  # the past is now
