"""When a group ends, from watching it: the steps of both pools, with made-up answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from queuepool.client import foretelling
from queuepool.client.effects import Pause, Steps
from queuepool.errors import InvalidInputError
from queuepool.models import Eta, GroupStatus


class Watched:
    """Answers with one status after another; pauses move the clock."""

    def __init__(self, statuses: Sequence[GroupStatus], patch: pytest.MonkeyPatch) -> None:
        self.left, self.now_s, self.paused_s = list(statuses), 0.0, 0.0
        patch.setattr("queuepool.client.foretelling.time.monotonic", lambda: self.now_s)

    def look(self) -> Steps[GroupStatus]:
        yield from ()
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    def run(self, over_s: float = 4.0) -> Eta | None:
        steps = foretelling.watched(self.look, over_s)
        try:
            while True:
                asked = next(steps)
                assert isinstance(asked, Pause)
                self.now_s += asked.seconds
                self.paused_s += asked.seconds
        except StopIteration as end:
            found: Eta | None = end.value
            return found


def status(done: int, total: int = 1_000, running: int = 10, delayed: int = 0) -> GroupStatus:
    return GroupStatus(
        total=total,
        ready=total - done - running - delayed,
        delayed=delayed,
        in_flight=running,
        done=done,
        dead=0,
        cancelled=0,
    )


def test_a_group_ends_when_its_jobs_do_at_their_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 jobs end in a second, so the last 920 need 46 s."""
    watched = Watched([status(done) for done in range(0, 100, 20)], monkeypatch)

    eta = watched.run()

    assert eta is not None
    assert eta.low_s < 46 < eta.high_s
    assert eta.likely_s == pytest.approx(46, rel=0.05)
    assert watched.paused_s == pytest.approx(4.0)


def test_nothing_is_told_of_a_group_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Watched([status(7)], monkeypatch).run() is None


def test_an_ended_group_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched([status(1_000, running=0)], monkeypatch)

    assert watched.run() == Eta(low_s=0.0, likely_s=0.0, high_s=0.0)
    assert watched.paused_s == 0


def test_delayed_jobs_alone_end_at_a_time_that_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [status(990, running=5, delayed=5), status(995, running=0, delayed=5)]

    assert Watched(looks, monkeypatch).run() is None


def test_a_held_group_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    held = GroupStatus(
        total=9, ready=9, delayed=0, in_flight=0, done=0, dead=0, cancelled=0, held_ms=5
    )
    watched = Watched([held], monkeypatch)

    assert watched.run() is None
    assert watched.paused_s == 0


@pytest.mark.parametrize("over_s", [-1.0, float("nan"), "1"])
def test_a_time_that_is_none_is_refused(over_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((InvalidInputError, TypeError)):
        Watched([status(0)], monkeypatch).run(over_s)
