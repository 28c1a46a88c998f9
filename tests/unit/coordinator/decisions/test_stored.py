"""Decisions as they are stored: nothing is lost, little is used, and damage is skipped."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.core.model import Clamp, Inputs, Mode
from coordinator.decisions.stored import (
    DecisionRecord,
    Outcome,
    Unsent,
    decode,
    encode,
    encode_outcome,
)
from tests.unit.coordinator.decisions.runs import Story, bursts

COUNTS = st.integers(0, 10**12)
TEXTS = st.text(max_size=40).filter(lambda text: text.isprintable())
MOVES = st.builds(Clamp, name=TEXTS, before=COUNTS, after=COUNTS, why=TEXTS)
INPUTS = st.builds(
    lambda backlog, workers, **rest: Inputs(
        backlog=backlog, workers=workers, pwqd=round(backlog / max(workers, 1), 3), **rest
    ),
    backlog=COUNTS, workers=COUNTS, busy=COUNTS, reported=COUNTS, finished_total=COUNTS,
    in_flight=COUNTS,
)  # fmt: skip
RECORDS = st.builds(
    DecisionRecord,
    partition=st.just(3), mode=st.sampled_from(Mode), previous=COUNTS, target=COUNTS, reason=TEXTS,
    clamps=st.lists(TEXTS, max_size=3).map(tuple), inputs=st.none() | INPUTS,
    moved=st.lists(MOVES, max_size=3).map(tuple),
    figures=st.lists(st.floats(0, 1e300), max_size=7).map(tuple),
    at_ms=COUNTS, epoch=st.just(42), cycle=COUNTS, policy=TEXTS, version=COUNTS,
    finished_per_s=st.floats(0, 1e9), command=st.just("") | COUNTS.map(lambda n: f"42-{n}"),
    record_version=COUNTS, unsent=st.sampled_from(["", *Unsent, "of-tomorrow"]),
)  # fmt: skip


@given(RECORDS)
def test_what_is_stored_is_read(record: DecisionRecord) -> None:
    assert decode(encode(record), 3) == record


def test_a_decision_stored_without_the_fate_of_its_command_is_read() -> None:
    kind, *fields = json.loads(encode(Story().run(5, bursts)[0]))

    record = decode(json.dumps([kind, *fields[:-1]]).encode(), 3)

    assert isinstance(record, DecisionRecord)
    assert record.unsent == ""


def test_an_outcome_is_read_with_its_decision() -> None:
    outcome = Outcome(at_ms=1, cycles=5, workers=9, busy=8, backlog=7, finished_per_s=1.5)

    assert decode(encode_outcome(42, 17, outcome), 3) == (42, 17, outcome)


OLD = {
    "at_ms": 1795194860508, "partition": 1, "epoch": 1795194000000, "cycle": 861, "policy": "pwqd",
    "version": 1, "mode": "automatic", "previous": 16, "target": 32, "reason": "PWQD 9.1 above 4.0",
    "clamps": ["hold"], "finished_per_s": 131.5, "command": "1795194000000-7",
    "inputs": {"backlog": 146, "workers": 16, "busy": 16, "reported": 16, "pwqd": 9.125,
               "finished_total": 52210},
}  # fmt: skip


def test_what_an_earlier_release_stored_is_read() -> None:
    record = decode(json.dumps(OLD).encode(), 9)

    assert isinstance(record, DecisionRecord)
    assert (record.partition, record.target, record.moved, record.figures) == (1, 32, (), ())
    assert record.inputs is not None
    assert (record.inputs.backlog, record.inputs.in_flight) == (146, 0)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"[", b"[]", b"[2]", b"[3]", b"[4,1,2,3]", b"[3,1,2,3,4,5,6,7]", b"{}", b"[2,null]",
        b"\xff\xfe", b"null", b"7", b"[" * 10_000, b'["2"]', b"[2," + b"9" * 400 + b"]",
        encode(decode(json.dumps(OLD).encode(), 9)).replace(b"automatic", b"of-tomorrow"),  # type: ignore[arg-type]
    ],
    ids=range(16),
)  # fmt: skip
def test_what_is_no_decision_is_skipped(raw: bytes) -> None:
    assert decode(raw, 3) is None


@given(st.binary(max_size=60), st.sampled_from([b"", b"[2,", b"[3,", b"{", b"[2,1,2,3,"]))
def test_any_bytes_are_read_or_skipped(raw: bytes, opening: bytes) -> None:
    decode(opening + raw, 3)


def test_a_record_of_a_later_release_with_more_at_its_end_is_read() -> None:
    record = decode(json.dumps(OLD).encode(), 9)
    assert isinstance(record, DecisionRecord)

    longer = encode(record)[:-1] + b',"more",{"x":1}]'

    assert decode(longer, 1) == record


def test_a_decision_takes_few_bytes() -> None:
    story = Story()
    story.run(600, bursts)
    sizes = [len(encode(replace(record, outcome=None))) for record in story.records()]

    assert sum(sizes) / len(sizes) < 330
    assert max(sizes) < 600
