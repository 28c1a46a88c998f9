"""Annotations with several types: what was sent as one of them arrives as that one."""

import base64
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

import pytest

from queuepool import Registry
from queuepool.tasks import conversion
from queuepool.testing import MemoryPool, run_jobs

LONG = Decimal("1.234567890123456789012345")


class Word(StrEnum):
    NULL = "null"
    OTHER = "other"


@dataclass(frozen=True)
class Price:
    amount: Decimal | float
    note: Literal["null", "x"] | None = None


CASES: list[tuple[Any, Any]] = [
    (Decimal | float, LONG),
    (Decimal | float, 1.5),
    (Decimal | int, Decimal(5)),
    (Decimal | int, 5),
    (bytes | None, base64.b64decode("null")),
    (bytes | None, None),
    (bytes | int, base64.b64decode("1234")),
    (Word | None, Word.NULL),
    (Literal["null", "x"] | None, "null"),
    (Literal[1, "1"], "1"),
    (Literal[1, "1"], 1),
    (list[Decimal | float], [LONG, 1.5]),
    (dict[int, Decimal | float], {1: LONG}),
    (Price, Price(LONG, "null")),
]


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a lax argument"])
@pytest.mark.parametrize(("kind", "value"), CASES)
def test_a_value_comes_back_as_it_was_sent(
    registry: Registry, pool: MemoryPool, kind: Any, value: Any, beside: bool
) -> None:
    seen = list[Any]()

    def echo(value: Any, n: int = 0) -> Any:
        seen.append(value)
        return value

    echo.__annotations__ |= {"value": kind, "return": kind}
    task: Any = registry.task(result_ttl_s=60)(echo)
    job = task.job(value=value, n="7") if beside else task.job(value=value)
    handle = pool.enqueue(job, partition_key="k")
    run_jobs(pool).raise_errors()

    for got in (*seen, handle.result(timeout_s=5)):
        assert (got, type(got)) == (value, type(value))
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int | None, "7", 7),
        (int | None, "null", None),
        (list[int] | None, ["7"], [7]),
        (Decimal | int, "7", Decimal(7)),
        (Literal[1, 2] | None, "2", 2),
        (dict[str, int | None], {"a": "7"}, {"a": 7}),
    ],
)
def test_text_is_converted_where_no_type_takes_it_as_it_is(
    registry: Registry, pool: MemoryPool, kind: Any, text: Any, value: Any
) -> None:
    seen = list[Any]()

    def note(value: Any) -> None:
        seen.append(value)

    note.__annotations__["value"] = kind
    task: Any = registry.task(note)
    pool.enqueue(task, {"value": text}, partition_key="k")
    run_jobs(pool).raise_errors()

    assert seen == [value]
    assert type(seen[0]) is type(value)


@pytest.mark.parametrize(
    "kind", [int, int | None, str | None, Decimal | None, Literal["a", "b"], Word]
)
def test_types_without_a_choice_are_converted_in_one_step(kind: Any) -> None:
    assert not conversion.is_ambiguous(kind)
