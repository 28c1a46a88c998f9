"""What a pool and its children say to each other: whole, in order, and within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.core.jobs import End
from consumer.workers.processes.frames import (
    MOST_TO_POOL,
    BrokenFrameError,
    Cancel,
    ChildReader,
    Ended,
    PoolReader,
    Progress,
    Ready,
    Run,
    Start,
    ToChild,
    ToPool,
    frame,
)

ENDED = Ended(1, End.DONE, "t", b"1", 1000, 0, True, b"", "", 5, "")
TO_CHILD: list[ToChild] = [
    Start("app", 3, 9, "text", "INFO"),
    Run(1, b"id", b"\xff" * 300, 2, 0),
    Cancel(1),
]
TO_POOL: list[ToPool] = [Ready(), Progress(1, b"half"), ENDED]


@given(cuts=st.lists(st.integers(1, 40), max_size=30))
def test_messages_arrive_whole_however_they_are_cut(cuts: list[int]) -> None:
    data = b"".join(frame(message) for message in TO_CHILD)
    reader, seen = ChildReader(), []
    for cut in [*cuts, len(data)]:
        seen += list(reader.read(data[:cut]))
        data = data[cut:]

    assert seen == TO_CHILD


def test_a_pool_hears_what_its_child_says() -> None:
    assert list(PoolReader().read(b"".join(frame(message) for message in TO_POOL))) == TO_POOL


def test_a_message_that_is_too_long_is_refused_before_it_is_there() -> None:
    with pytest.raises(BrokenFrameError, match="bytes"):
        list(PoolReader().read((MOST_TO_POOL + 1).to_bytes(4, "big")))


@given(data=st.binary(min_size=4, max_size=64))
def test_bytes_of_a_stranger_are_refused_or_awaited(data: bytes) -> None:
    reader = PoolReader()
    try:
        messages = list(reader.read(data))
    except BrokenFrameError:
        return
    assert all(isinstance(message, Ready | Progress | Ended) for message in messages)


def test_what_is_said_to_a_child_is_no_answer_of_it() -> None:
    with pytest.raises(BrokenFrameError):
        list(PoolReader().read(frame(Cancel(1))))


@pytest.mark.parametrize(
    "message",
    [
        Progress(1, b"x" * 257),
        Ended(1, 9, "t", None, 0, 0, True, b"", "", 5, ""),  # type: ignore[arg-type]
        Ended(1, End.RETRY, "t", None, 0, -1, True, b"", "", 5, ""),
        Ended(1, End.DONE, "t" * 129, None, 0, 0, True, b"", "", 5, ""),
    ],
)
def test_values_that_no_child_sends_are_refused(message: ToPool) -> None:
    with pytest.raises(BrokenFrameError):
        list(PoolReader().read(frame(message)))
