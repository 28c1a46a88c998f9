"""After an outage of a server, nobody there is replaced for one lease."""

from math import inf

import pytest

from consumer.core.effects import Call
from consumer.core.outages import Outages
from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.testing import FakeClock

AWAY = UnavailableError("away")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def outages(clock: FakeClock) -> Outages:
    return Outages(10.0, clock, lambda partition: "a" if partition < 10 else "b")


def call(outages: Outages, partition: int, *replies: object) -> None:
    """Make one call that gets these replies."""
    steps = outages.call(partition, [])
    effect = next(steps)
    assert isinstance(effect, Call)
    assert effect.partition == partition
    with pytest.raises(StopIteration) as ended:
        steps.send(list(replies))
    assert ended.value.value == list(replies)


def fail(outages: Outages, partition: int, error: QueuePoolError = AWAY) -> None:
    """Make one call that gets no reply."""
    steps = outages.call(partition, [])
    next(steps)
    with pytest.raises(type(error)):
        steps.throw(error)


def test_a_server_that_answers_is_no_reason_to_wait(outages: Outages) -> None:
    call(outages, 0, 1)

    assert outages.wait_s(0) == 0


def test_the_wait_lasts_one_lease_from_the_first_reply(outages: Outages, clock: FakeClock) -> None:
    fail(outages, 0)
    assert outages.wait_s(0) == inf
    clock.advance(60)
    assert outages.wait_s(0) == inf

    call(outages, 0, 1)
    assert outages.wait_s(0) == 10
    clock.advance(4)
    call(outages, 0, 1)  # this one is no news

    assert outages.wait_s(0) == 6
    clock.advance(6)
    assert outages.wait_s(0) == 0


def test_a_second_outage_restarts_it(outages: Outages, clock: FakeClock) -> None:
    for _ in range(2):
        fail(outages, 0)
        call(outages, 0, 1)
        clock.advance(4)

    assert outages.wait_s(0) == 6


def test_it_holds_for_all_partitions_of_the_server_and_for_no_others(outages: Outages) -> None:
    fail(outages, 0)
    call(outages, 10, 1)

    assert outages.wait_s(9) == inf
    assert outages.wait_s(10) == 0


def test_a_reply_that_took_half_a_lease_was_an_outage(outages: Outages, clock: FakeClock) -> None:
    steps = outages.call(0, [])
    next(steps)
    clock.advance(5.1)
    with pytest.raises(StopIteration):
        steps.send([1])

    assert outages.wait_s(0) == 10


def test_a_server_that_cannot_write_is_away(outages: Outages) -> None:
    call(outages, 0, 1, UnavailableError("it is read-only"))
    assert outages.wait_s(0) == inf

    call(outages, 0, 1)
    assert outages.wait_s(0) == 10


def test_an_error_that_is_not_the_servers_says_nothing(outages: Outages) -> None:
    fail(outages, 0, ConfigurationError("there is no partition 0"))

    assert outages.wait_s(0) == 0


def test_a_short_lease_leaves_time_for_an_attempt_of_the_owner(clock: FakeClock) -> None:
    outages = Outages(0.5, clock)
    fail(outages, 0)
    call(outages, 0, 1)

    assert outages.wait_s(0) == 2


OWNER, OTHER = 7, 8  # epochs


def test_an_owner_whose_lease_ends_while_it_is_seen_is_replaced_at_once(
    outages: Outages, clock: FakeClock
) -> None:
    assert not outages.may_replace(0, OWNER, runs=True)
    clock.advance(0.1)

    assert outages.may_replace(0, OWNER, runs=False)


def test_one_whose_lease_is_over_at_the_first_look_is_watched_for_half_a_lease(
    outages: Outages, clock: FakeClock
) -> None:
    assert not outages.may_replace(0, OWNER, runs=False)
    assert not outages.may_replace(1, OWNER, runs=False)
    clock.advance(4.9)
    assert not outages.may_replace(0, OWNER, runs=False)
    clock.advance(0.1)

    assert outages.may_replace(0, OWNER, runs=False)
    assert not outages.may_replace(0, OTHER, runs=False)


def test_one_that_renews_is_replaced_when_its_new_lease_ends(
    outages: Outages, clock: FakeClock
) -> None:
    outages.may_replace(0, OWNER, runs=False)
    clock.advance(4.9)
    assert not outages.may_replace(0, OWNER, runs=True)
    clock.advance(10)

    assert outages.may_replace(0, OWNER, runs=False)


def test_what_is_forgotten_is_watched_from_the_beginning(
    outages: Outages, clock: FakeClock
) -> None:
    outages.may_replace(0, OWNER, runs=False)
    outages.forget(0)
    clock.advance(5)

    assert not outages.may_replace(0, OWNER, runs=False)


def test_nobody_is_replaced_in_an_outage_however_long_he_was_seen(
    outages: Outages, clock: FakeClock
) -> None:
    outages.may_replace(0, OWNER, runs=True)
    fail(outages, 0)
    clock.advance(60)
    assert not outages.may_replace(0, OWNER, runs=False)
    call(outages, 0, 1)
    assert not outages.may_replace(0, OWNER, runs=False)
    clock.advance(10)

    assert outages.may_replace(0, OWNER, runs=False)


def test_with_a_short_lease_it_is_watched_for_longer_than_a_pause_of_the_owner(
    clock: FakeClock,
) -> None:
    outages = Outages(1.0, clock)
    outages.may_replace(0, OWNER, runs=False)
    clock.advance(1.9)
    assert not outages.may_replace(0, OWNER, runs=False)
    clock.advance(0.1)
    assert outages.may_replace(0, OWNER, runs=False)
