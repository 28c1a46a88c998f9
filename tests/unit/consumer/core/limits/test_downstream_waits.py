"""A wait that a downstream asked for is repeated until the home of its limit knows it."""

from __future__ import annotations

from math import inf

import pytest

from consumer.core.limits import downstream_waits
from consumer.core.limits.downstream_waits import KEEP_S, DownstreamWaits
from queuepool.errors import UnavailableError
from queuepool.verbs import Verb

AWAY = UnavailableError("away")


def waits(*names: str, for_s: float = 60.0) -> DownstreamWaits:
    """Return those of an owner that learned at second 10 that these limits are to wait."""
    made = DownstreamWaits(lambda _name: "")
    for name in names or ("mail",):
        made.note(name, 10.0 + for_s, 10.0)
    return made


def sent(held: DownstreamWaits, now_s: float) -> Verb[int]:
    """Take the one call that is due."""
    [(_, verb)] = held.due(now_s)
    return verb


def test_what_its_home_knows_is_forgotten() -> None:
    held = waits()
    assert held.next_s() == 10.0
    verb = sent(held, 10.0)
    assert (verb.script, verb.args) == ("slow", ["mail", 60_000, ""])
    assert (held.next_s(), held.due(99.0)) == (inf, [])  # it has no answer yet

    held.on_reply("mail", verb, 1, 10.1)

    assert (held.next_s(), held.due(99.0)) == (inf, [])


def test_what_is_left_of_it_is_repeated_at_growing_intervals_until_it_is_known() -> None:
    held, now_s, pauses = waits(), 10.0, []
    for _ in range(9):
        verb = sent(held, now_s)
        assert verb.args[1] == round((70.0 - now_s) * 1000)
        held.on_reply("mail", verb, AWAY, now_s)
        pauses.append(round(held.next_s() - now_s, 2))
        assert held.due(held.next_s() - 0.01) == []
        now_s = held.next_s()

    held.on_reply("mail", sent(held, now_s), 1, now_s)

    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]
    assert held.next_s() == inf


def test_a_longer_wait_that_comes_before_the_answer_is_sent_after_it() -> None:
    held = waits()
    verb = sent(held, 10.0)
    held.note("mail", 40.0, 10.1)  # shorter
    held.note("mail", 100.0, 10.1)
    assert held.due(10.2) == []

    held.on_reply("mail", verb, 1, 10.3)

    assert sent(held, 10.3).args[1] == 89_700


def test_a_home_is_told_before_it_is_asked_for_tokens() -> None:
    held = waits()
    held.on_reply("mail", sent(held, 10.0), AWAY, 10.0)
    assert held.due(10.01) == []

    assert [name for name, _ in held.of("mail", 10.01)] == ["mail"]

    assert held.of("mail", 10.01) == held.of("other", 10.01) == held.due(99.0) == []


def test_a_wait_that_is_over_still_slows_an_adaptive_limit_down_but_not_for_ever() -> None:
    held = waits(for_s=1.0)
    held.on_reply("mail", sent(held, 10.0), AWAY, 10.0)

    verb = sent(held, 12.0)
    assert verb.args[1] == 0
    held.on_reply("mail", verb, AWAY, 11.0 + KEEP_S + 0.1)

    assert held.next_s() == inf


def test_a_wait_is_no_longer_than_its_home_accepts() -> None:
    assert sent(waits(for_s=1e9), 10.0).args[1] == 86_400_000


def test_of_too_many_limits_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downstream_waits, "MOST", 2)
    held = waits("a", "b", "c")

    found = held.due(10.0)

    assert [name for name, _ in found] == ["b", "c"]
    held.note("d", 99.0, 10.0)
    held.on_reply("b", found[0][1], AWAY, 10.0)  # dropped while it had no answer
    assert [name for name, _ in held.due(99.0)] == ["d"]
