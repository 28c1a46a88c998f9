"""Rates of limits: how many tokens owners get in any window of time, how they share, who waits."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from queuepool.models import Limit
from queuepool.verbs.limits import verbs as limit
from queuepool.verbs.limits.verbs import Granted
from tests.contract.limiting import VOID_US, Home, S, most_in_windows, owner, rate, times
from tests.contract.prompt import prompt
from tests.contract.world import World

WINDOWS_S = (0.05, 0.25, 1.0, 2.0)


def test_a_limit_that_nobody_defined_grants_everything_at_once(world: World) -> None:
    told = Home(world).ask(owner(1), 1000, wanted=7)

    assert (told.tokens, told.permits, told.again_us) == (1000, 7, 0)
    assert max(times(told)) == told.now_us


@prompt(0.05)
def test_a_burst_is_granted_at_once_and_the_next_token_when_it_is_due(world: World) -> None:
    home = Home(world, definition=rate(10, burst=5))

    first, second = home.ask(owner(1), 100), home.ask(owner(1), 100)

    assert first.tokens == 5
    assert set(times(first)) == {first.now_us}
    assert (second.tokens, second.apart_us) == (1, 100_000)
    assert second.first_us - first.first_us == pytest.approx(500_000, abs=2)


@pytest.mark.parametrize(
    ("tokens", "per_s", "burst"), [(10, 1.0, 1), (300, 1.0, 30), (7, 0.5, 14), (20, 60.0, 3)]
)
def test_no_window_has_more_tokens_than_rate_and_burst_allow(
    world: World, tokens: int, per_s: float, burst: int
) -> None:
    home, chance = Home(world, definition=rate(tokens, per_s, burst)), random.Random(burst)
    starts: list[float] = []

    for _ in range(150):
        starts += times(home.ask(owner(chance.randrange(4)), chance.choice((1, 3, 50, 1000))))
        home.advance(chance.choice((0, 0, 0.01, 0.05, 0.3)))

    assert len(starts) > burst
    for window_s in WINDOWS_S:
        most = window_s * tokens / per_s + burst
        assert most_in_windows(starts, window_s * S - 2) <= most + 1e-6, window_s


def busy(home: Home, owners: int, for_s: float) -> dict[int, list[float]]:
    """Let owners use all they get, asking at the end of it; return the times of their tokens."""
    starts: dict[int, list[float]] = {n: [] for n in range(owners)}
    begin = now = home.ask(owner(99)).now_us
    ready = dict.fromkeys(starts, float(begin))  # when each asks again
    while now < begin + for_s * S:
        for n in [n for n, at in ready.items() if at <= now]:
            told = home.ask(owner(n), 1000)
            mine = times(told)
            starts[n] += mine
            ready[n] = mine[-1] if mine else told.again_us
        home.advance(max(0.001, (min(ready.values()) - now) / S))
        now = home.ask(owner(99)).now_us
    return {n: [t for t in mine if begin + S <= t < now - S] for n, mine in starts.items()}


@pytest.mark.parametrize(("owners", "tokens"), [(10, 200), (10, 4), (30, 300)])
def test_busy_owners_share_evenly_and_use_a_limit_up(
    world: World, owners: int, tokens: int
) -> None:
    for_s = 12.0 if tokens > 100 else 40.0

    starts = busy(Home(world, definition=rate(tokens)), owners, for_s)

    everything = sorted(t for mine in starts.values() for t in mine)
    span_s = (everything[-1] - everything[0]) / S
    share = len(everything) / owners
    slack = max(0.1 * share, tokens / 10 + 1)  # of what one ask gets
    assert all(abs(len(mine) - share) <= slack for mine in starts.values()), Counter(
        {n: len(mine) for n, mine in starts.items()}
    )
    assert len(everything) >= 0.97 * tokens * span_s


@prompt(0.05)
def test_tokens_are_booked_at_most_a_second_ahead(world: World) -> None:
    home = Home(world, definition=rate(10))

    told = [home.ask(owner(n), 1000) for n in range(20)]

    refused = [t for t in told if not t.tokens]
    assert 8 <= len(refused) <= 9
    assert all(t.first_us <= t.now_us + S for t in told if t.tokens)
    assert all(t.now_us < t.again_us <= t.now_us + 0.2 * S for t in refused)


@prompt(0.05)
def test_who_was_refused_is_next_and_who_does_not_come_back_is_passed_over(world: World) -> None:
    home = Home(world, definition=rate(1, per_s=10))
    got = [home.ask(owner(n), 1).tokens for n in range(4)]
    for _ in range(2):
        home.advance(4.4)
        assert [home.ask(owner(n), 1).tokens for n in (3, 2, 1)] == [0, 0, 0]
    home.advance(0.3)

    assert got == [1, 0, 0, 0]
    assert [home.ask(owner(n), 1).tokens for n in (0, 3, 1)] == [0, 0, 1]
    home.advance(15)  # owner 2 was told to ask before that
    assert home.ask(owner(9), 1).tokens == 1


@prompt(0.05)
def test_who_is_behind_one_that_left_the_line_keeps_its_place(world: World) -> None:
    home = Home(world, definition=rate(1, per_s=10))
    assert [home.ask(owner(n), 1).tokens for n in range(3)] == [1, 0, 0]
    for _ in range(2):
        home.advance(4.4)
        assert [home.ask(owner(n), 1).tokens for n in (2, 3)] == [0, 0]
    home.advance(0.3)

    assert [home.ask(owner(n), 1).tokens for n in (3, 2)] == [0, 1]
    if not world.in_memory:
        askers = world.client.hkeys(world.partition.key + b":lc:mail")
        assert askers == [b"3:1"]


def test_tokens_that_would_be_wasted_are_for_anyone(world: World) -> None:
    home = Home(world, definition=rate(1, per_s=2))
    for n in range(3):
        home.ask(owner(n), 1)
    home.advance(2.1)

    assert home.ask(owner(7), 1).tokens == 1


def test_what_people_set_wins_over_what_code_declares_of_which_the_newest_counts(
    world: World,
) -> None:
    home = Home(world, definition=rate(10))
    assert home.ask(owner(1), 1).apart_us == 100_000
    home.definition = rate(20)
    assert home.ask(owner(1), 1).apart_us == 50_000

    world.partition.run(limit.set_limit(Limit("mail", rate=40)))
    home.definition = rate(30)

    assert home.ask(owner(1), 1).apart_us == 25_000
    world.partition.run(limit.remove_limit("mail"))
    home.definition = ""
    assert home.ask(owner(1), 1).apart_us == pytest.approx(33_333.333)


def test_a_higher_rate_counts_from_the_next_ask_on(world: World) -> None:
    home = Home(world, definition=rate(1, per_s=3600))
    home.ask(owner(1), 1)
    assert home.ask(owner(1), 1).tokens == 0

    home.definition = rate(100)
    told = home.ask(owner(1), 1)
    home.advance(1.2)

    assert told.again_us <= told.now_us + 1.2 * S
    assert home.ask(owner(1), 1).tokens == 1


def test_a_paused_limit_grants_nothing_until_it_is_resumed(world: World) -> None:
    home = Home(world, definition=rate(10, burst=10, permits=5))
    home.ask(owner(1), 1, wanted=2)
    world.partition.run(limit.pause_limit("mail", on=True))

    paused = home.ask(owner(1), 5, held=2, wanted=3)
    world.partition.run(limit.pause_limit("mail", on=False))
    resumed = home.ask(owner(1), 5, held=2, wanted=3)

    assert (paused.tokens, paused.permits, paused.paused) == (0, 0, True)
    assert paused.again_us == paused.now_us + S
    assert (resumed.tokens, resumed.permits, resumed.paused) == (5, 3, False)


@pytest.mark.parametrize("definition", [rate(10, burst=10), "", "0:0:1:5:0:0"])
def test_after_a_429_nobody_gets_a_token_before_it_is_over(world: World, definition: str) -> None:
    home = Home(world, definition=definition)
    home.ask(owner(1), 1)

    until_us = home.slow(5_000)
    told = home.ask(owner(2), 5)
    home.slow(1_000)
    home.advance(4.2)
    late = home.ask(owner(2), 5)
    home.advance(1)

    assert 0 <= until_us - told.now_us <= 5 * S
    assert told.tokens == 0
    assert told.now_us < told.again_us <= until_us
    assert all(t >= until_us for t in times(late))
    assert home.ask(owner(3), 5).tokens >= 1


def test_a_429_makes_a_limit_known_for_a_day(world: World) -> None:
    home = Home(world, definition=rate(10))
    home.slow(10)

    [status] = world.partition.run(limit.limits())[1]
    world.advance(25 * 3600)

    assert status.declared == Limit("mail", rate=10, burst=1)
    assert status.refused_ms > 0
    assert world.partition.run(limit.find_limit("mail")) is None


@prompt(0.05)
def test_a_wait_is_not_longer_when_the_clock_went_back_before_another(world: World) -> None:
    home = Home(world)
    home.slow(60_000)
    go_back(home, 3600)

    until_us = home.slow(10)

    assert 59 * S <= until_us - home.ask(owner(1), 1).now_us <= 60 * S


def adaptive() -> str:
    return Limit("mail", rate="adaptive", least=10, most=110).definition


@prompt(0.05)
def test_an_adaptive_limit_rises_while_it_is_used_up(world: World) -> None:
    home = Home(world, definition=adaptive())
    first = home.ask(owner(1), 1000).apart_us

    for _ in range(40):
        home.advance(0.1)
        told = home.ask(owner(1), 1000)
    used = told.apart_us
    home.advance(60)
    home.ask(owner(1), 1)
    home.advance(0.5)

    assert first == 100_000
    assert 1_000_000 / used == pytest.approx(10 + 4 * 10, rel=0.1)
    assert home.ask(owner(1), 1).apart_us == pytest.approx(used, rel=0.05)


@prompt(0.05)
def test_an_adaptive_limit_slows_down_once_for_the_refusals_of_a_second(world: World) -> None:
    home = Home(world, definition=adaptive())
    world.partition.run(limit.set_limit(Limit("mail", rate="adaptive", least=10, most=1000)))
    for _ in range(20):
        home.ask(owner(1), 1000)
        home.advance(0.2)
    found = world.partition.run(limit.find_limit("mail"))

    for _ in range(3):
        home.slow(0)
    slower = world.partition.run(limit.find_limit("mail"))
    home.advance(1.1)
    home.slow(0)
    slowest = world.partition.run(limit.find_limit("mail"))

    paces = [s.pace for s in (found, slower, slowest) if s is not None and s.pace is not None]
    assert paces[0] > 100
    assert [b / a for a, b in pairwise(paces)] == pytest.approx([0.7, 0.7], rel=0.01)


def test_a_refusal_slows_a_limit_down_by_the_definition_that_comes_with_it(world: World) -> None:
    home = Home(world, definition=adaptive())
    for _ in range(20):
        home.ask(owner(1), 1000)
        home.advance(0.2)
    newer = Limit("mail", rate="adaptive", least=10, most=40).definition
    Home(world, definition=newer).slow(0)

    found = world.partition.run(limit.find_limit("mail"))
    assert found is not None
    assert found.pace == 10, "what it came to is beyond the newer range: it starts again"


def test_a_clock_that_goes_back_stops_a_limit_no_longer_than_a_second_and_one_token(
    world: World,
) -> None:
    home = Home(world, definition=rate(10, burst=3))
    for _ in range(4):
        told = home.ask(owner(1), 100)
    home.slow(500)
    go_back(home, 3600)

    seen = home.ask(owner(1), 100)
    home.advance(1.2)

    assert seen.again_us - seen.now_us <= 1.2 * S
    assert told.tokens
    assert home.ask(owner(1), 100).tokens


def go_back(home: Home, seconds: float) -> None:
    """Put the clock of the home back: what it has stored is of the future."""
    if home.world.clock is not None:
        home.world.clock._now_s -= seconds
    else:
        home.advance(-seconds)


@prompt(0.05)
def test_repeats_and_lost_replies_cost_what_was_booked_and_no_more(world: World) -> None:
    home = Home(world, definition=rate(10, burst=5))

    told: list[Granted] = [home.ask(owner(1), 5, serial=1) for _ in range(3)]
    home.advance(VOID_US / S)

    assert [t.tokens for t in told] == [5, 1, 1]
    assert home.ask(owner(2), 5).tokens == 5
