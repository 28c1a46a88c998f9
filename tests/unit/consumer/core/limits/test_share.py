"""What an owner has of one limit: when its tokens may be used, and when it asks for more."""

from __future__ import annotations

from math import inf
from typing import Any

from consumer.core.limits.gate import GateView
from consumer.core.limits.share import TOKEN_S, Asked, Share
from queuepool.verbs.limits.verbs import Granted

NOW_US = 5_000_000


def granted(**more: Any) -> Granted:
    """Return what a home says that has no concurrency, and grants nothing."""
    usual: dict[str, Any] = {
        "now_us": NOW_US,
        "tokens": 0,
        "first_us": NOW_US,
        "apart_us": 0.0,
        "permits": 100,
        "again_us": 0,
        "paused": False,
    }
    return Granted(**(usual | more))


def share(**more: Any) -> Share:
    """Return a share that was granted this at second 10, when it asked for 10 tokens."""
    made = Share("mail")
    made.asked = Asked(10, 0, 10)
    made.on_granted(granted(**more), 10.0)
    return made


def _spend(held: Share, tokens: int) -> None:
    for _ in range(tokens):
        held.spend()


def wants(held: Share, jobs: int) -> Share:
    """Return the share, with so many jobs that wait for it."""
    held.wanted = jobs
    held.line.clear()
    if jobs:
        held.line["mail"] = GateView("mail", (held,), parked=jobs)
    return held


def test_a_token_may_be_used_from_its_time_on() -> None:
    held = share(tokens=3, first_us=NOW_US + 100_000, apart_us=50_000.0)

    assert wants(held, 5).next_s(10.0) == 10.1
    assert [held.ready(now_s) for now_s in (10.0, 10.11, 10.16, 10.21)] == [0, 1, 2, 3]


def test_a_token_is_void_two_seconds_after_its_time() -> None:
    held = share(tokens=2, first_us=NOW_US, apart_us=1_000_000.0)

    assert held.ready(10.0 + TOKEN_S + 0.5) == 1
    assert held.ready(11.0 + TOKEN_S + 0.5) == 0


def test_a_spent_token_is_gone_and_one_that_was_not_used_comes_back() -> None:
    held = share(tokens=3, apart_us=0.0)
    assert held.ready(10.0) == 3

    _spend(held, 2)
    assert held.ready(10.0) == 1
    held.take_back(10.0)
    assert held.ready(10.0) == 2


def test_no_more_jobs_are_admitted_than_permits_are_left() -> None:
    held = share(tokens=10, permits=4, again_us=NOW_US + 3_600_000_000)
    held.used = 3

    assert held.ready(10.0) == 1


def test_a_home_without_a_concurrency_bounds_no_jobs() -> None:
    held = share(tokens=10, permits=10)
    held.used = 500

    assert held.ready(10.0) == 10
    assert not wants(held, 0).must_ask(14.9)
    assert held.must_ask(15.0), "it may have a concurrency by now"


def test_it_asks_for_more_before_the_tokens_are_used_up() -> None:
    held = share(tokens=10, apart_us=10_000.0)

    assert not wants(held, 50).must_ask(10.0)
    held.ready(10.2)
    _spend(held, 8)
    assert wants(held, 50).must_ask(10.2)
    assert wants(held, 50).lacks() == 48


def test_who_was_refused_waits_as_told() -> None:
    held = share(again_us=NOW_US + 300_000)

    assert not wants(held, 5).must_ask(10.2)
    assert wants(held, 5).must_ask(10.31)
    assert wants(held, 5).next_s(10.0) == 10.3


def test_nothing_is_asked_while_an_answer_is_on_its_way() -> None:
    held = Share("mail")
    assert wants(held, 1).must_ask(0.0)

    held.asked = Asked(1, 0, 1)

    assert not wants(held, 1).must_ask(0.0)


def test_a_home_that_does_not_answer_is_asked_less_and_less_often() -> None:
    held, at_s, pauses = Share("mail"), 0.0, []
    for _ in range(8):
        held.asked = Asked(1, 0, 1)
        held.on_failure(at_s)
        pauses.append(wants(held, 1).next_s(at_s) - at_s)
        at_s += pauses[-1]

    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.05, 2.0)
    held.on_granted(granted(tokens=1), at_s)
    assert held.ready(at_s) == 1


def test_an_ask_without_an_answer_leaves_only_the_permits_that_it_named() -> None:
    held = share(tokens=10, permits=5, again_us=NOW_US + 3_600_000_000)
    held.used = 2
    assert held.ready(10.0) == 3

    held.begin_ask()

    assert held.ready(10.0) == 0
    held.on_failure(10.0)
    assert held.ready(10.0) == 0
    held.on_granted(granted(permits=4, again_us=NOW_US + 3_600_000_000), 10.0)
    assert held.ready(10.0) == 2


def test_permits_go_back_once_nothing_needs_them() -> None:
    held = share(tokens=2, permits=3, again_us=NOW_US + 3_600_000_000)
    held.used = 1
    assert not wants(held, 0).must_ask(11.0)

    held.used = 0

    assert wants(held, 0).must_ask(11.0)
    held.on_granted(granted(permits=0), 11.0)
    assert not wants(held, 0).must_ask(12.0)
    assert wants(held, 0).next_s(12.0) == inf


def test_tokens_that_no_permit_matches_are_not_asked_for() -> None:
    held = share(tokens=1, apart_us=1000.0, permits=3, again_us=NOW_US + 20_000)
    assert held.ready(10.0) == 1
    _spend(held, 1)
    held.used = 3
    assert wants(held, 50).lacks() <= 0

    held.used = 2

    assert wants(held, 50).lacks() == 1


def test_who_gave_its_permits_back_asks_before_it_has_any_again() -> None:
    held = share(tokens=9, permits=5, again_us=NOW_US + 3_600_000_000)
    wants(held, 0)
    held.begin_ask()
    held.on_granted(granted(permits=0), 11.0)

    assert wants(held, 1).ready(11.0) == 0
    assert held.must_ask(11.0)


def test_who_lost_its_permits_by_an_ask_without_answer_asks_again_soon() -> None:
    held = share(tokens=9, permits=1, again_us=NOW_US + 3_600_000_000)
    wants(held, 5).begin_ask()
    held.on_failure(10.5)

    assert held.ready(10.5) == 0
    assert held.next_s(10.5) < 11
