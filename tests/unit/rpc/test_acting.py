"""Who acts, beside a call: told as it is, bounded, and read back whatever the caller sends."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool.models.log import LogEntry, LogKind
from queuepool.rpc import acting
from queuepool.rpc.log import entry_of, kinds_of, message_of, numbers_of
from queuepool.rpc.v1 import log_pb2


def test_who_acts_is_known_within_the_block_alone() -> None:
    assert acting.current() is None
    with acting.acting("ada@desk", "command", "they asked") as act:
        assert acting.current() is act
        assert acting.reason() == "they asked"
    assert acting.current() is None
    assert acting.reason() == ""


@pytest.mark.parametrize(
    ("who", "via", "why"),
    [
        ("ada@desk", "command", "they asked"),
        ("Ärzte 東京", "page", ""),
        ("a b", "c d", "of two lines"),
    ],
)
def test_what_is_told_is_read_back(who: str, via: str, why: str) -> None:
    told = acting.Acting(who, via, why.replace(" two ", "\ntwo\n")).entry

    assert acting.told_by([("other", "x"), told]) == acting.Acting(who, via, why)


def test_a_line_break_moves_no_text_into_another_field() -> None:
    told = acting.Acting("ada\nvia\nwhy", "command", "").entry

    assert acting.told_by([told]) == acting.Acting("ada via why", "command", "")


@pytest.mark.parametrize(
    "metadata",
    [None, [], [("authorization", "Bearer x")], [(acting.BY, "text")], [(acting.BY, b"")]],
)
def test_who_says_nothing_is_nobody(metadata: Any) -> None:
    assert acting.told_by(metadata) is None


def test_whatever_a_caller_sends_is_read_within_bounds() -> None:
    assert acting.told_by([(acting.BY, b"\xff\n")]) == acting.Acting("\ufffd", "", "")
    read = acting.told_by([(acting.BY, b"x" * 10**6 + b"\n")])
    assert read is not None
    assert len(read.who) == 1000
    assert len(acting.Acting("\udc80" * 10**4, "", "").entry[1]) <= 1000


def test_an_entry_is_a_message_and_back() -> None:
    for kind in LogKind:
        entry = LogEntry(
            kind=kind, what="a", subject="b", who="c", via="d", why="e", outcome="f", at_ms=7,
            id="7-0",
        )  # fmt: skip
        assert entry_of(message_of(entry)) == entry
    assert kinds_of(numbers_of(list(LogKind))) == list(LogKind)


def test_a_kind_of_a_later_release_is_left_out() -> None:
    later: Any = 99
    assert entry_of(log_pb2.LogEntry(kind=later, what="x")) is None
    assert kinds_of([99]) == []
