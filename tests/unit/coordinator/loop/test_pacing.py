"""Calls take a share of the time; pauses are made together, and in a hurry later."""

from __future__ import annotations

import pytest

from coordinator.loop.pacing import InterruptedMoveError, Pacer


class Line:
    """A server whose calls take so long, and a clock that pauses move on as well."""

    def __init__(self) -> None:
        self.now_s, self.pauses_s, self.goes = 0.0, list[float](), True
        self.paced = Pacer(0.5, going=lambda: self.goes, rest=self.rest, clock=lambda: self.now_s)

    def rest(self, seconds: float) -> None:
        self.pauses_s.append(seconds)
        self.now_s += seconds

    def call(self, seconds: float) -> str:
        self.now_s += seconds
        return "done"


def test_a_pause_is_as_long_as_the_calls_before_it_at_half_of_the_time() -> None:
    line = Line()
    assert line.paced(line.call, 0.25) == "done"
    line.paced(line.call, 0.5)
    assert line.pauses_s == [0.25, 0.5]


def test_short_pauses_are_made_together() -> None:
    line = Line()
    for _ in range(9):
        line.paced(line.call, 0.0005)
    assert line.pauses_s == pytest.approx([0.001] * 4)


def test_in_a_hurry_the_pause_that_is_due_comes_before_and_the_next_one_later() -> None:
    line = Line()
    line.paced(line.call, 0.0005)
    line.paced.hurry()
    assert line.pauses_s == [0.0005]

    line.paced(line.call, 0.015)
    line.paced(line.call, 0.015)
    assert len(line.pauses_s) == 1

    line.paced(line.call, 0.015)
    assert line.pauses_s[1:] == pytest.approx([0.045])
    line.paced(line.call, 0.015)
    assert line.pauses_s[2:] == pytest.approx([0.015]), "the hurry is over"


def test_a_pause_is_bounded_and_nothing_is_called_any_more_once_it_is_to_end() -> None:
    line = Line()
    line.paced(line.call, 100.0)
    assert line.pauses_s == [1.0]

    line.goes = False
    with pytest.raises(InterruptedMoveError):
        line.paced(line.call, 1.0)
    assert line.now_s == 101.0
