"""What fuzzing has found reaches the code again, without the fuzzer, at each run of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from queuepool.protocol import codec
from tests.fuzz import corpus
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_no_kept_input_finds_a_defect(name: str) -> None:
    inputs = corpus.all_of(name)

    assert len(inputs) >= 20
    for data in (b"", *inputs):
        try:
            TARGETS[name](data)
        except Exception as error:
            raise AssertionError(f"{name}: {data!r}") from error


def test_a_defect_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: bytes) -> None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "planted")

    monkeypatch.setattr(codec, "decode_envelope", fail)

    with pytest.raises(AssertionError, match="codec: b"):
        test_no_kept_input_finds_a_defect("codec")


def test_inputs_are_written_as_they_are_read(tmp_path: Path) -> None:
    inputs = [b"", b"\n\r\x00'\"\\", bytes(range(256))]

    corpus.write("some", [*inputs, b""], tmp_path)

    assert corpus.read("some", tmp_path) == inputs
    assert corpus.read("none", tmp_path) == []
