"""Keys that differ, but not as the texts that JSON has: refused before one value is lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any

import pytest

from queuepool import InvalidInputError, Job, Registry
from queuepool.errors.jobs import BadResultError
from queuepool.protocol import codec
from queuepool.testing import MemoryPool

TWICE: Any = {1: "a", "1": "b"}
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Held:
    counts: dict[Any, Any]


class Kind(Enum):
    NEW = "new"


@dataclass
class Odd:
    text: str

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


def encoded(payload: dict[Any, Any]) -> bytes:
    return codec.encode_envelope("t", payload, codec.NO_OPTIONS, limit=10**6)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (TWICE, r"counts has a key that is '1' in JSON, as another of its keys is; use texts"),
        ({"x": [{"y": TWICE}]}, r"counts\.x\[0\]\.y has a key that is '1' in JSON"),
        ({"x": Held(TWICE)}, r"counts\.x\.counts has a key"),
        ([1.5, {"a": 1, 2.5: 2, "2.5": 3}], r"counts\[1\] has a key that is '2.5' in JSON"),
        ({date(2026, 1, 1): 1, "2026-01-01": 2}, "counts has a key that is '2026-01-01'"),
        ({-7: None, "-7": True}, "counts has a key that is '-7'"),
        ({Kind.NEW: 1, "new": 2}, "counts has a key that is 'new'"),
        (
            Held({MOMENT: 1, MOMENT.isoformat()[:-6] + "Z": 2}),
            r"counts\.counts has a key that is '2",
        ),
        (((), {b"a": 1, "YQ==": 2}), r"counts\[1\] has a key that is 'YQ=='"),
    ],
)
def test_two_keys_that_are_one_in_json_are_refused(value: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        encoded({"counts": value})
    with pytest.raises(BadResultError, match=said):
        codec.encode_result({"counts": value})


@pytest.mark.parametrize("result", [TWICE, {Kind.NEW: 1, "new": 2}, {"a": TWICE}])
def test_so_are_those_of_a_result(result: Any) -> None:
    with pytest.raises(BadResultError, match="in JSON, as another of its keys is"):
        codec.encode_result(result)


@pytest.mark.parametrize(
    "value",
    [
        {1: "a", 2: "b"},
        {1: "a", "2": "b"},
        {"line1": "a", "line2": {"1": "b", "01": "c"}},
        {Kind.NEW: 1, "old": 2},
        {1: {"1": {1: 2}}},
        {"at": MOMENT, MOMENT: [None, 10**30, Odd("a")]},
        'text": 1, "1": 2',
    ],
)
def test_keys_that_differ_as_texts_are_kept(value: Any) -> None:
    assert encoded({"counts": value})
    assert codec.encode_result(value)
    assert codec.encode_result([value])


def test_so_are_the_names_of_arguments_of_a_task_that_takes_any() -> None:
    registry = Registry()

    @registry.task(name="t")
    def take(**counts: object) -> None: ...

    pool = MemoryPool(registry=registry)
    said = "the payload of task 't' is not JSON: it has a key that is '1' in JSON"
    with pytest.raises(InvalidInputError, match=said):
        pool.enqueue("t", TWICE, partition_key="k")
    with pytest.raises(InvalidInputError, match=said):
        pool.enqueue_many("t", [TWICE], partition_key="k")
    with pytest.raises(InvalidInputError, match=said):
        pool.enqueue_many("t", [Job(TWICE, job_id="mine")], partition_key="k")

    assert pool.enqueue("t", {"1": "b", "a": 1}, partition_key="k").status == "accepted"
