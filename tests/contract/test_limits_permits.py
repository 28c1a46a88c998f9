"""Concurrency of limits: never more jobs at once than allowed, whatever is lost or repeated."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from queuepool.models import Limit
from queuepool.verbs.limits import verbs as limit
from queuepool.verbs.owner.replies import Ownership
from tests.contract.limiting import Home, S, owner, permits, rate
from tests.contract.prompt import prompt
from tests.contract.world import World


@dataclass
class Asker:
    """An owner with jobs to run. allowed: as many at once as the home said last."""

    home: Home
    who: Ownership
    running: int = 0
    allowed: int = 0
    ends: list[float] = field(default_factory=list)

    def ask(self, wanted: int) -> None:
        """Ask, and start what may start."""
        self.allowed = self.home.ask(self.who, held=self.running, wanted=wanted).permits
        self.running = max(self.running, min(wanted, self.allowed))

    def end(self, count: int) -> None:
        """End jobs, and start others in their place as far as that is allowed."""
        self.running = max(self.running - count, min(self.running, self.allowed))


def held_at(world: World) -> int:
    """Return the permits in use, as the home counts them."""
    found = world.partition.run(limit.find_limit("mail"))
    return found.running if found else 0


def free(world: World, partition: int, epoch: int) -> int:
    """Free the permits of what a partition's earlier epochs held; return how many."""
    cursor, freed = b"0", 0
    while True:
        cursor, n = world.partition.run(limit.end_permits(partition, epoch, cursor))
        freed += n
        if cursor == b"0":
            return freed


@pytest.mark.parametrize("seed", range(4))
def test_never_more_jobs_run_than_the_concurrency(world: World, seed: int) -> None:
    chance, most = random.Random(seed), 7
    home = Home(world, definition=permits(most))
    askers = [Asker(home, owner(n)) for n in range(5)]

    for _ in range(250):
        asker = chance.choice(askers)
        what = chance.random()
        if what < 0.2:
            asker.end(chance.randint(1, 3))
        elif what < 0.3:  # asks, and never hears
            home.ask(asker.who, held=asker.running, wanted=chance.randint(0, 9))
            asker.allowed = asker.running
        elif what < 0.4:  # says the same twice
            wanted = chance.randint(0, 9)
            home.ask(asker.who, held=asker.running, wanted=wanted)
            asker.ask(wanted)
        else:
            asker.ask(chance.randint(0, 9))
        home.advance(chance.choice((0, 0, 0.02, 0.3)))
        assert sum(max(a.running, a.allowed) for a in askers) <= held_at(world) <= most


def test_a_repeated_ask_changes_nothing(world: World) -> None:
    home = Home(world, definition=permits(5))

    told = [home.ask(owner(1), held=0, wanted=3, serial=1).permits for _ in range(3)]

    assert told == [3, 3, 3]
    assert held_at(world) == 3


def test_a_repeated_ask_takes_no_permits_from_jobs_that_began_since(world: World) -> None:
    home = Home(world, definition=permits(4))
    home.ask(owner(1), held=0, wanted=4, serial=1)  # and starts four
    home.ask(owner(2), held=0, wanted=4)

    again = home.ask(owner(1), held=0, wanted=4, serial=1)

    assert again.permits == 4
    assert home.ask(owner(2), held=0, wanted=4).permits == 0


def test_an_ask_that_is_executed_late_changes_no_permits(world: World) -> None:
    home = Home(world, definition=permits(5))
    home.ask(owner(1), held=0, wanted=3, serial=1)
    home.ask(owner(1), held=3, wanted=4, serial=3)

    late = home.ask(owner(1), held=0, wanted=0, serial=2)

    assert (late.tokens, late.permits) == (0, 4)
    assert home.ask(owner(2), wanted=5).permits == 1


def test_permits_that_are_given_back_are_for_the_next(world: World) -> None:
    home = Home(world, definition=permits(5))
    home.ask(owner(1), wanted=5)
    waits = home.ask(owner(2), wanted=2)

    home.ask(owner(1), held=3, wanted=3)

    assert (waits.permits, waits.again_us > 0) == (0, True)
    assert home.ask(owner(2), wanted=2).permits == 2
    assert held_at(world) == 5


def test_while_others_wait_an_owner_keeps_its_share(world: World) -> None:
    home = Home(world, definition=permits(10))
    askers = [Asker(home, owner(n)) for n in range(3)]
    askers[0].ask(10)
    assert askers[0].running == 10

    for _ in range(60):
        for asker in askers:
            asker.end(1)
            asker.ask(10)
        home.advance(0.02)

    assert sum(asker.running for asker in askers) >= 9
    assert all(3 <= asker.running <= 4 for asker in askers)


@prompt(0.1)
def test_what_is_left_beyond_the_shares_goes_round(world: World) -> None:
    home = Home(world, definition=permits(1))
    askers = [Asker(home, owner(n)) for n in range(4)]
    turns = dict.fromkeys(range(4), 0)

    for _ in range(400):
        for n, asker in enumerate(askers):
            asker.end(1)
            asker.ask(1)
            turns[n] += asker.running
        assert sum(asker.running for asker in askers) <= 1
        home.advance(0.02)

    assert sum(turns.values()) >= 350
    assert min(turns.values()) >= 0.8 * sum(turns.values()) / 4, turns


@prompt(0.1)
def test_a_turn_of_what_is_left_lasts_a_quarter_of_a_second(world: World) -> None:
    home = Home(world, definition=permits(1))

    def ask(n: int, held: int) -> int:
        return home.ask(owner(n), held=held, wanted=1).permits

    assert [ask(1, 0), ask(0, 0), ask(1, 1), ask(1, 0)] == [1, 0, 0, 0]
    assert [ask(0, 0), ask(0, 1)] == [1, 1]
    home.advance(0.3)

    assert [ask(1, 0), ask(0, 1), ask(0, 0), ask(1, 0)] == [0, 0, 0, 1]


@prompt(0.8)
def test_who_got_a_token_has_left_the_line_although_it_has_permits(world: World) -> None:
    home = Home(world, "limit", rate(1, per_s=10, permits=5))
    assert [home.ask(owner(n), 1, wanted=1).tokens for n in range(3)] == [1, 0, 0]

    tokens = []
    for seconds in (3.0, 3.0, 3.1, 3.0, 3.0, 4.0):  # the line counts in a token's last second
        home.advance(seconds)
        tokens.append([home.ask(owner(n), 1, held=1, wanted=1).tokens for n in (2, 1)])

    assert tokens == [[0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [1, 0]]


def test_idle_askers_are_forgotten_after_a_minute(server_world: World) -> None:
    home = Home(server_world, definition=permits(9))
    for n in range(4):
        home.ask(owner(n), wanted=1)
    for n in range(3):
        home.ask(owner(n), wanted=0)

    home.advance(59)
    home.ask(owner(8), wanted=1)
    before = server_world.client.hlen(server_world.partition.key + b":lc:mail")
    home.advance(2)
    home.ask(owner(8), wanted=1)
    after = server_world.client.hkeys(server_world.partition.key + b":lc:mail")

    assert before == 5
    assert sorted(after) == [b"3:1", b"8:1"]


@prompt(0.1)
def test_who_waits_and_does_not_come_back_keeps_nobody_waiting(world: World) -> None:
    home = Home(world, definition=permits(1))
    holder, gone = Asker(home, owner(1)), Asker(home, owner(2))
    holder.ask(1)
    gone.ask(1)
    holder.ask(1)
    holder.end(1)
    holder.ask(0)
    assert home.ask(owner(3), wanted=1).permits == 0

    home.advance(3.2)

    assert home.ask(owner(3), wanted=1).permits == 1


def test_a_lower_concurrency_holds_as_jobs_end(world: World) -> None:
    home = Home(world, definition=permits(8))
    asker = Asker(home, owner(1))
    asker.ask(8)

    world.partition.run(limit.set_limit(Limit("mail", concurrency=3)))
    seen = []
    for _ in range(8):
        asker.ask(8)
        seen.append((asker.allowed, asker.running, held_at(world)))
        asker.running = max(asker.running - 1, min(asker.running, asker.allowed))

    assert seen[0] == (3, 8, 8)
    assert [running for _, running, _ in seen] == [8, 7, 6, 5, 4, 3, 3, 3]
    assert seen[-1] == (3, 3, 3)
    assert home.ask(owner(2), wanted=1).permits == 0


def test_permits_of_a_crashed_owner_come_back_with_its_epoch_and_not_before(world: World) -> None:
    home = Home(world, definition=permits(4))
    home.ask(owner(1, epoch=5), wanted=3)
    home.ask(owner(2, epoch=5), wanted=1)
    home.advance(100)
    assert home.ask(owner(3), wanted=4).permits == 0

    assert free(world, 1, 5) == 0
    assert free(world, 1, 6) == 3
    assert free(world, 1, 6) == 0

    assert home.ask(owner(3), wanted=4).permits == 3


def test_an_owner_that_was_replaced_gets_nothing_more(world: World) -> None:
    home = Home(world, definition="10:1000000:10:4:0:0")
    home.ask(owner(1, epoch=5), 1, wanted=2)
    free(world, 1, 6)

    old = home.ask(owner(1, epoch=5), 3, held=2, wanted=3)
    new = home.ask(owner(1, epoch=6), 3, held=0, wanted=4)

    assert (old.tokens, old.permits) == (0, 0)
    assert (new.tokens, new.permits) == (3, 4)
    assert free(world, 1, 6) == 0


def test_one_that_is_over_cannot_take_permits_by_saying_that_it_holds_them(world: World) -> None:
    home = Home(world, definition=permits(4))
    home.ask(owner(1, epoch=5), wanted=3)
    free(world, 1, 6)

    home.ask(owner(1, epoch=5), held=3, wanted=3)

    assert held_at(world) == 0
    home.ask(owner(1, epoch=5), held=3, wanted=3)  # another one that came late
    assert held_at(world) == 0
    assert home.ask(owner(2), wanted=4).permits == 4


def test_an_owner_that_wants_no_more_takes_no_share(world: World) -> None:
    home = Home(world, definition=permits(8))
    for n in range(8):
        home.ask(owner(n), wanted=1)
    for n in range(2, 8):
        home.ask(owner(n), wanted=0)
    home.advance(1.1)  # they are counted again

    told = [home.ask(owner(n), held=1, wanted=8).permits for n in (0, 1, 0, 1)]

    assert sum(told[2:]) == 8
    assert told[3] == 4


def test_one_that_drains_keeps_what_it_runs_beside_its_successor(world: World) -> None:
    home = Home(world, definition=permits(4))
    home.ask(owner(1, epoch=5), wanted=3)
    home.ask(owner(1, epoch=6), wanted=1)

    drains = home.ask(owner(1, epoch=5), held=2, wanted=9)

    assert drains.permits == 0
    assert held_at(world) == 3
    assert home.ask(owner(1, epoch=6), wanted=4).permits == 2


def test_where_no_limit_is_the_end_of_an_epoch_leaves_nothing(world: World) -> None:
    assert free(world, 1, 6) == 0
    if not world.in_memory:
        assert not list(world.client.scan_iter(match=world.partition.key + b"*"))


def test_what_notes_the_permits_of_a_partition_lasts_while_it_has_any(server_world: World) -> None:
    client, key = server_world.client, server_world.partition.key + b":lp:1"
    home = Home(server_world, definition=permits(2))
    seen = []
    for wanted in (1, 0, 2):
        home.ask(owner(1, epoch=5), wanted=wanted)
        seen.append((client.hkeys(key), client.pttl(key) > 0))
    free(server_world, 1, 6)

    assert seen == [([b"", b"mail:5"], False), ([b""], True), ([b"", b"mail:5"], False)]
    assert (client.hgetall(key), client.pttl(key) > 0) == ({b"": b"6"}, True)


def test_who_has_permits_asks_again_within_an_hour(world: World) -> None:
    home = Home(world, definition=permits(2))

    told = [home.ask(owner(1), wanted=wanted) for wanted in (1, 0)]

    assert [t.again_us and t.again_us - t.now_us for t in told] == [3600 * S, 0]


def test_many_limits_of_one_owner_are_freed_in_steps(world: World) -> None:
    for n in range(500):
        Home(world, f"account:{n}", permits(2)).ask(owner(1), wanted=2)

    assert free(world, 1, 2) == 1000


def test_a_home_that_lost_its_records_learns_from_what_owners_hold(world: World) -> None:
    home = Home(world, definition=permits(5))
    home.ask(owner(1), held=4, wanted=4)

    assert home.ask(owner(2), wanted=5).permits == 1


def test_a_wrong_count_is_wrong_for_a_second(server_world: World) -> None:
    world, home = server_world, Home(server_world, definition=permits(5))
    home.ask(owner(1), wanted=2)
    world.client.hset(world.partition.key + b":li:mail", "used", 5)
    assert home.ask(owner(2), wanted=5).permits == 0

    home.advance(1.1)

    assert home.ask(owner(2), wanted=5).permits == 3


def test_nothing_of_a_limit_that_is_not_asked_for_stays_for_more_than_a_day(
    server_world: World,
) -> None:
    client, base = server_world.client, server_world.partition.key
    for name, definition in (("a", permits(1)), ("b", "1:60000000:1:0:0:0"), ("c", "")):
        home = Home(server_world, name, definition)
        for n in range(3):
            home.ask(owner(n), 1, wanted=1)
        home.ask(owner(0))
    kept = [base + b":ls"]

    endless = [k for k in client.scan_iter(match=base + b":*") if client.pttl(k) == -1]

    assert endless == kept
