"""One explicit bound on nesting, the same for payloads and results, on every Python."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import InvalidInputError
from queuepool.protocol import codec, lossless
from queuepool.testing import MemoryPool

ODD_TEXTS = ["[" * 200, '"[{' * 100, "\\" * 99 + "[" * 99, '\\"{' * 80, "]}" * 100, "null[[" * 40]
PLAIN = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from(ODD_TEXTS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=40,
)


def nested(levels: int, kind: str) -> Any:
    value: Any = 7
    for level in range(levels):
        value = [value] if kind == "lists" or (kind == "mixed" and level % 2) else {"a": value}
    return value


def height(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(height, value.values()), default=0)
    return 1 + max(map(height, value), default=0) if isinstance(value, list) else 0


@pytest.mark.parametrize("kind", ["lists", "objects", "mixed"])
@pytest.mark.parametrize("beyond", [1, 2, 926, 5_000, 100_000])
def test_a_payload_nested_deeper_than_the_bound_is_refused_naming_it(
    kind: str, beyond: int
) -> None:
    pool = MemoryPool()
    payload = {"a": nested(codec.MAX_NESTING - 1, kind), "wide": [[{}]] * 500}
    pool.enqueue("t", payload, partition_key="g")

    payload["a"] = nested(codec.MAX_NESTING - 1 + beyond, kind)
    with pytest.raises(InvalidInputError, match=f"deeper than {codec.MAX_NESTING} levels"):
        pool.enqueue("t", payload, partition_key="g")

    assert pool.partition(0).observe().jobs == 1


@pytest.mark.parametrize("levels", [codec.MAX_NESTING + 1, 990, 100_000])
def test_a_result_nested_deeper_than_the_bound_is_no_result(levels: int) -> None:
    kept = nested(codec.MAX_NESTING, "mixed")
    assert codec.decode_result(codec.encode_result(kept)) == kept
    with pytest.raises(InvalidInputError, match=f"deeper than {codec.MAX_NESTING} levels"):
        codec.encode_result(nested(levels, "mixed"))


def test_a_payload_that_holds_itself_is_refused() -> None:
    payload: dict[str, Any] = {}
    payload["me"] = [payload]
    with pytest.raises(InvalidInputError, match="contains itself"):
        MemoryPool().enqueue("t", payload, partition_key="g")


@given(PLAIN, st.integers(1, 6))
def test_the_levels_of_a_document_are_counted_outside_its_texts(value: Any, bound: int) -> None:
    padded = [value, " " * 200]  # a short document is not looked at
    for document in (json.dumps(padded), json.dumps(padded, ensure_ascii=False)):
        raw = document.encode("utf-8", "replace")
        assert lossless.is_deeper(raw, bound) is (height(padded) > bound)
