"""Partition keys reach the same partition in every process and version."""

from __future__ import annotations

import subprocess
import sys
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import InvalidInputError
from queuepool.routing.slots import MAX_KEY_BYTES, group_of, key_bytes, partition_of, slot_of

# Written down once; a change of any of them would send the jobs of a key somewhere else.
VECTORS = [
    ("import-42", 1001, 1, 1),
    ("a", 559, 3, 7),
    (b"a", 559, 3, 7),
    ("ünïcödé", 501, 1, 5),
    ("🦆", 3689, 1, 1),
    (b"\x00", 584, 0, 0),
    (b"\xff\xfe", 1699, 3, 3),
    ("\ud800", 3432, 0, 0),
    ("}{*:\r\n", 2302, 2, 6),
    ("k" * 64, 100, 0, 4),
    ("k" * 65, 375, 3, 7),
]


@pytest.mark.parametrize(("key", "slot", "of_4", "of_8"), VECTORS)
def test_a_key_has_the_slot_that_is_written_down(
    key: str | bytes, slot: int, of_4: int, of_8: int
) -> None:
    found = slot_of(key_bytes(key))

    assert (found, partition_of(found, 4), partition_of(found, 8)) == (slot, of_4, of_8)


@pytest.mark.thorough
def test_another_process_with_another_hash_seed_agrees() -> None:
    code = (
        "from queuepool.routing.slots import *\n"
        "print([slot_of(key_bytes(k)) for k in ('import-42', 'a', b'\\xff\\xfe', '\\ud800')])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert outputs == {
        str([slot_of(key_bytes(k)) for k in ("import-42", "a", b"\xff\xfe", "\ud800")])
    }


@given(st.text(min_size=1, max_size=200))
def test_text_and_its_utf8_are_one_key(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")

    assert key_bytes(text) == key_bytes(raw) == raw


@given(st.binary(min_size=1, max_size=300), st.sampled_from([1, 2, 4, 8, 16, 4096]))
def test_when_n_divides_the_slots_the_slot_is_the_plain_hash(key: bytes, n: int) -> None:
    plain = int.from_bytes(blake2b(key, digest_size=8).digest(), "big") % n

    assert partition_of(slot_of(key), n) == plain


@given(st.binary(min_size=1, max_size=300))
def test_a_group_is_the_key_unless_that_is_long(key: bytes) -> None:
    group = group_of(key)

    assert group == key if len(key) <= 64 else len(group) == 16
    assert 1 <= len(group) <= 64


def test_long_keys_that_differ_at_the_end_are_different_groups() -> None:
    assert group_of(b"x" * 1000 + b"1") != group_of(b"x" * 1000 + b"2")


@pytest.mark.parametrize("n", [3, 7, 100])
def test_keys_spread_evenly(n: int) -> None:
    counts = [0] * n
    for i in range(100 * n):
        counts[partition_of(slot_of(b"key-%d" % i), n)] += 1

    assert min(counts) > 50
    assert max(counts) < 160


@pytest.mark.parametrize("key", ["", b"", 7, None, True, 1.5, ["a"], bytearray(b"a")])
def test_what_is_no_key_is_refused(key: object) -> None:
    with pytest.raises(InvalidInputError, match="partition_key"):
        key_bytes(key)  # type: ignore[arg-type]


def test_a_key_has_a_greatest_length() -> None:
    assert len(key_bytes("k" * MAX_KEY_BYTES)) == MAX_KEY_BYTES
    with pytest.raises(InvalidInputError, match="65,536"):
        key_bytes("k" * (MAX_KEY_BYTES + 1))
