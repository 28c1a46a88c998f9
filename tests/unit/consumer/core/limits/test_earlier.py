"""Permits of earlier ownerships end at every home, page by page, whatever gets no answer."""

from __future__ import annotations

from math import inf

from consumer.core.limits.earlier import EarlierPermits
from consumer.core.remote_call import ToAll, ToPartition
from queuepool.errors import UnavailableError
from queuepool.verbs.owner.replies import Ownership


def earlier(*, used: bool = True) -> EarlierPermits:
    """Return one that learned that no job of earlier owners can run."""
    made = EarlierPermits(Ownership(1, "nonce", 7))
    made.on_quiet(used=used)
    return made


def test_every_partition_is_told_once() -> None:
    ending = earlier()
    assert ending.next_s() == 0.0

    [(to, verb)] = ending.due(5.0)

    assert (to, verb.args) == (ToAll(), [1, 7, b"0"])
    ending.on_reply(ToPartition(0), verb, [b"0", 3], 5.0)
    ending.on_reply(ToPartition(1), verb, [b"0", 0], 5.0)
    assert ending.next_s() == inf
    assert not ending.possible


def test_a_home_that_has_more_than_a_page_is_asked_for_the_next() -> None:
    ending = earlier()
    [(_, verb)] = ending.due(5.0)

    ending.on_reply(ToPartition(0), verb, [b"17", 200], 5.0)

    [(to, verb)] = ending.due(5.0)
    assert (to, verb.args) == (ToPartition(0), [1, 7, b"17"])
    ending.on_reply(ToPartition(0), verb, [b"0", 1], 5.0)
    assert ending.due(1000.0) == []


def test_a_home_that_gives_no_answer_is_asked_again_and_only_that_one() -> None:
    ending = earlier()
    [(_, verb)] = ending.due(5.0)
    ending.on_reply(ToPartition(0), verb, [b"0", 1], 5.0)
    for n in range(3):
        ending.on_reply(ToPartition(1), verb, UnavailableError("down"), 5.0 + 2 * n)
        assert ending.due(6.9 + 2 * n) == []
        [(to, verb)] = ending.due(7.0 + 2 * n)
        assert (to, verb.args[2]) == (ToPartition(1), b"0")

    ending.on_reply(ToPartition(1), verb, [b"0", 1], 12.0)

    assert ending.next_s() == inf


def test_where_nobody_was_ever_at_a_gate_nothing_is_asked() -> None:
    ending = earlier(used=False)

    assert ending.due(5.0) == []
    assert not ending.possible


def test_jobs_that_come_back_later_are_a_reason_to_ask_again() -> None:
    ending = earlier(used=False)

    ending.suspect()

    assert ending.possible
    ending.on_quiet(used=True)
    assert [to for to, _ in ending.due(5.0)] == [ToAll()]
