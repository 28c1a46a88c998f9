"""What JSON cannot express, NaN, infinities, odd offsets: refused by name, never changed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queuepool import InvalidInputError
from queuepool.errors.jobs import BadResultError
from queuepool.protocol import codec
from queuepool.tasks.job import Job
from tests.bad_inputs.conftest import MakePool

NAN = float("nan")
ODD = datetime(1930, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32)))
PLAIN = st.none() | st.booleans() | st.integers() | st.text() | st.floats()
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)


@dataclass
class Row:
    price: float


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        ({"price": NAN}, "price is nan"),
        ({"price": math.inf}, "price is inf"),
        ({"price": -math.inf}, "price is -inf"),
        ({"a": None, "price": NAN}, "price is nan"),
        ({"order": {"rows": [1.0, {"price": NAN}]}}, r"order\.rows\[1\]\.price is nan"),
        ({"pair": (1, NAN)}, r"pair\[1\] is nan"),
        ({"row": Row(NAN)}, r"row\.price is nan"),
        ({"some": {NAN}}, r"some\[0\] is nan"),
        (MappingProxyType({"price": NAN}), "price is nan"),
        ({"rates": {NAN: 1}}, "rates has a key that is nan"),
        ({"rates": [{"a": {1: 1, -math.inf: 2}}]}, r"rates\[0\]\.a has a key that is -inf"),
        ({"row": Row(1.0), "days": {ODD: 1}}, "days has a key that is 0:19:32 from UTC"),
    ],
)
def test_a_payload_is_refused_by_the_name_of_its_field(
    make_pool: MakePool, payload: Mapping[str, Any], where: str
) -> None:
    pool = make_pool()

    with pytest.raises(InvalidInputError, match=where):
        pool.enqueue("work", payload, partition_key="g")
    with pytest.raises(InvalidInputError, match=where) as caught:
        pool.enqueue_many("work", [{"a": None}, Job(payload)], partition_key="g")
    assert caught.value.__notes__ == ["1 jobs before it were enqueued"]
    assert pool.partition(0).observe().jobs == 1


def numbers_of(value: Any) -> list[float]:
    """Return all floats of a value."""
    if isinstance(value, float):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return (
        [n for v in inner for n in numbers_of(v)] if isinstance(value, (dict, list, tuple)) else []
    )


@given(VALUES)
@example([[], {}, "null", None, 1.5])
@example(NAN)
def test_a_result_comes_back_whole_or_is_refused(value: Any) -> None:
    if not all(math.isfinite(n) for n in numbers_of(value)):
        with pytest.raises(InvalidInputError, match=r"nan|inf"):
            codec.encode_result(value)
    else:
        assert codec.decode_result(codec.encode_result(value)) == _as_lists(value)


def _as_lists(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_lists(v) for v in value]
    return {k: _as_lists(v) for k, v in value.items()} if isinstance(value, dict) else value


OLD = datetime(1900, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32)))
WEST = time(7, tzinfo=timezone(-timedelta(minutes=16, seconds=8)))


@dataclass
class Event:
    at: Any


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (OLD, "it is 0:19:32"),
        ([None, OLD], r"\[1\] is 0:19:32"),
        (Event(OLD), "at is 0:19:32"),
        ({"at": WEST}, "at is -1 day, 23:43:52"),
    ],
)
def test_a_time_that_json_would_shift_is_refused(value: Any, where: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{where}.*UTC.* convert it to UTC"):
        codec.encode_result(value)
    with pytest.raises(InvalidInputError, match=r"is .* from UTC.* convert it to UTC"):
        codec.encode_envelope("work", {"value": value}, codec.NO_OPTIONS, limit=1000)


@pytest.mark.parametrize("minutes", [0, 19, 330, -90])
def test_a_time_whose_offset_has_no_seconds_comes_back(minutes: int) -> None:
    at = OLD.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    told = codec.decode_result(codec.encode_result({"at": at, "text": "10:00+01:00"}))

    assert datetime.fromisoformat(told["at"]) == at


@pytest.mark.parametrize("spare", [0, -1])
def test_a_result_has_a_greatest_size(spare: int) -> None:
    text = "x" * (codec.MAX_RESULT_BYTES - 2 - spare)

    if spare == 0:
        assert len(codec.encode_result(text)) == codec.MAX_RESULT_BYTES
    else:
        with pytest.raises(InvalidInputError, match="reference"):
            codec.encode_result(text)


@pytest.mark.parametrize("key", [NAN, math.inf, ODD])
def test_a_result_with_such_a_key_is_refused(key: Any) -> None:
    with pytest.raises(BadResultError, match="it has a key that is"):
        codec.encode_result({key: 1, "a": 2})
