"""Which owners a standby replaces before their lease ends."""

from __future__ import annotations

from consumer.core.lifeline import CUT_STARTS_S, GRACE_S, Lifelines
from queuepool.verbs.owner.replies import Held

HELD = Held(9000, 7, 1000, "abc:5:17", "host:1")


def test_an_owner_whose_connection_stays_closed_is_gone_after_the_grace() -> None:
    seen = Lifelines()

    assert seen.on_look(0, HELD, 10.0, cut=True) == GRACE_S
    assert 0 < seen.on_look(0, HELD, 10.0 + GRACE_S / 2, cut=True) < GRACE_S
    assert seen.on_look(0, HELD, 10.0 + GRACE_S, cut=True) == 0


def test_a_renewal_or_another_owner_restarts_the_grace() -> None:
    seen = Lifelines()
    seen.on_look(0, HELD, 10.0, cut=True)

    assert seen.on_look(0, Held(9000, 7, 1001, "abc:5:17", ""), 11.0, cut=True) == GRACE_S
    assert seen.on_look(0, Held(9000, 8, 1001, "abc:5:17", ""), 12.0, cut=True) == GRACE_S


def test_a_connection_that_is_there_again_restarts_the_grace() -> None:
    seen = Lifelines()
    seen.on_look(0, HELD, 10.0, cut=True)
    assert seen.on_look(0, HELD, 10.5, cut=False) == -1

    assert seen.on_look(0, HELD, 10.0 + GRACE_S, cut=True) == GRACE_S


def test_partitions_are_told_apart_and_an_outage_forgets_one() -> None:
    seen = Lifelines()
    seen.on_look(0, HELD, 10.0, cut=True)

    assert seen.on_look(1, HELD, 10.0 + GRACE_S, cut=True) == GRACE_S
    seen.forget(0)
    assert seen.on_look(0, HELD, 10.0 + GRACE_S, cut=True) == GRACE_S
    assert seen.on_look(1, HELD, 10.0 + 2 * GRACE_S, cut=True) == 0


def test_a_process_that_is_known_to_have_ended_has_no_grace_but_its_connection_counts() -> None:
    seen = Lifelines(lambda *where: where == ("host:1", "17"))

    assert seen.on_look(0, HELD, 10.0, cut=False) == -1
    assert seen.on_look(0, HELD, 10.0, cut=True) == 0


def test_an_owner_that_is_cut_off_stops_starting_before_it_may_be_replaced() -> None:
    assert CUT_STARTS_S < GRACE_S
