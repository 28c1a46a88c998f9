"""One leader at a time; commands in order; what is kept of decisions and of counts set by hand."""

from typing import TypeVar

import pytest

from queuepool.models import Leader
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from tests.contract import world as w
from tests.contract.snapshot import snapshot
from tests.contract.world import World

T = TypeVar("T")


def ask(world: World, verb: Verb[T]) -> T:
    """Run a verb on what the coordinators share."""
    return verb.read(world.partition.server.run(world.system, [verb])[0])


def campaign(world: World, nonce: str, lease_ms: int = 5_000) -> Leader:
    return ask(world, lead.lead(nonce, lease_ms=lease_ms, address=f"{nonce}:50051"))


def command(world: World, epoch: int, sequence: int, *, type: str = "SCALE_UP") -> tuple[bool, str]:
    return world.partition.run(
        lead.command(
            epoch, sequence, type=type, partition=3, target_workers=12, reason="r" * 300,
            expires_ms=30_000,
        )
    )  # fmt: skip


def test_the_first_leads_and_others_learn_who(world: World) -> None:
    first, second, looker = (campaign(world, n) for n in ("a", "b", ""))

    assert first.leading
    assert not second.leading
    assert not looker.leading
    assert second.epoch == looker.epoch == first.epoch
    assert second.address == "a:50051"
    assert 0 < second.lease_ms <= 5_000


def test_who_leads_is_told_as_a_campaign_that_only_looks_is(world: World) -> None:
    ask(world, lead.set_manual(3, 7, ttl_ms=60_000))
    leader = campaign(world, "a")

    told = ask(world, lead.who_leads())

    assert (told.leading, told.epoch, told.address) == (False, leader.epoch, "a:50051")
    assert 0 < told.lease_ms <= 5_000
    assert told.manual.keys() == {3}
    assert told.manual[3][0] == 7


def test_nobody_leads_at_first(world: World) -> None:
    looked = campaign(world, "")

    assert (looked.leading, looked.epoch, looked.address, looked.lease_ms) == (False, 0, "", 0)


def test_a_leader_keeps_its_epoch_while_it_renews(world: World) -> None:
    first = campaign(world, "a", 60_000)
    world.advance(40)

    again = campaign(world, "a", 60_000)
    world.advance(40)

    assert again.epoch == first.epoch
    assert not campaign(world, "b").leading


def test_an_expired_leader_is_replaced_by_a_higher_epoch(world: World) -> None:
    first = campaign(world, "a")
    world.advance(6)
    assert campaign(world, "").address == ""

    second = campaign(world, "b")

    assert second.leading
    assert second.epoch > first.epoch
    assert not campaign(world, "a").leading


def test_a_leader_that_resigns_is_replaced_at_once(world: World) -> None:
    first = campaign(world, "a")

    assert not ask(world, lead.resign("b"))
    assert ask(world, lead.resign("a"))

    second = campaign(world, "b")
    assert second.leading
    assert second.epoch > first.epoch


def test_commands_are_ordered_and_repeats_refused(world: World) -> None:
    accepted = command(world, 5, 1)
    repeated = command(world, 5, 1)
    next_one = command(world, 5, 2)
    earlier = command(world, 5, 1)

    assert (accepted, next_one) == ((True, "5-1"), (True, "5-2"))
    assert (repeated, earlier) == ((False, "5-1"), (False, "5-2"))


def test_a_stale_leader_is_refused_once_its_successor_has_spoken(world: World) -> None:
    command(world, 5, 9)

    assert command(world, 6, 0, type="NOOP") == (True, "6-0")
    assert command(world, 5, 10) == (False, "6-0")


def test_a_command_travels_whole_and_is_the_checkpoint(world: World) -> None:
    owned = world.own()
    command(world, 5, 1)

    [heard] = w.renew(owned).commands

    assert (heard.id, heard.type, heard.partition, heard.target_workers) == (
        "5-1",
        "SCALE_UP",
        3,
        12,
    )
    assert heard.reason == "r" * 256
    assert heard.expires_ms > owned.acquired.now_ms + 29_000
    assert world.partition.observe().checkpoint == 12
    assert snapshot(world)["tokens"] == [b"c"]


def test_a_noop_wakes_nobody_and_is_no_checkpoint(world: World) -> None:
    command(world, 5, 0, type="NOOP")

    state = world.partition.observe()

    assert (state.checkpoint, state.last_command) == (None, "5-0")
    assert snapshot(world)["tokens"] == []


def test_a_command_is_given_whatever_stands_where_tokens_wait(server_world: World) -> None:
    server_world.client.set(server_world.partition.key + b":wk", "not ours")

    assert command(server_world, 5, 1) == (True, "5-1")

    assert server_world.partition.observe().checkpoint == 12
    server_world.damaged = True


@pytest.mark.parametrize("epoch", ["x", "nan", "1e300", "-3", ""])
def test_a_leader_whose_epoch_was_damaged_gets_a_new_one(server_world: World, epoch: str) -> None:
    first = campaign(server_world, "a")
    server_world.client.hset(server_world.system + b":leader", "epoch", epoch)

    again = campaign(server_world, "a")

    assert again.leading
    assert again.epoch >= first.epoch
    assert campaign(server_world, "b").epoch == again.epoch
    assert ask(server_world, lead.record(again.epoch, [(0, b"1")], keep=10)) == 1


def test_commands_do_not_pile_up(world: World) -> None:
    owned = world.own()
    for sequence in range(600):
        command(world, 5, sequence)

    heard = w.renew(owned).commands

    assert len(heard) == 100
    assert heard[0].id >= "5-300"
    assert len(snapshot(world)["commands"]) < 300


def test_a_checkpoint_is_fenced(world: World) -> None:
    assert world.partition.run(lead.checkpoint(6, 20))
    assert not world.partition.run(lead.checkpoint(5, 1))
    assert world.partition.run(lead.checkpoint(6, 21))

    assert world.partition.observe().checkpoint == 21


def test_counts_set_by_hand_end_by_themselves(world: World) -> None:
    until = ask(world, lead.set_manual(3, 40, ttl_ms=60_000))
    ask(world, lead.set_manual(4, 50, ttl_ms=600_000))

    assert campaign(world, "").manual[3] == (40, until)
    world.advance(61)
    assert set(campaign(world, "").manual) == {4}
    assert ask(world, lead.set_manual(4, 51, ttl_ms=60_000)) > 0
    assert campaign(world, "").manual[4][0] == 51
    assert ask(world, lead.clear_manual(4)) == 0
    assert campaign(world, "").manual == {}


def test_decisions_are_kept_for_the_leader_only_and_read_from_the_newest(world: World) -> None:
    epoch = campaign(world, "a").epoch

    both = [(3, b"1"), (3, b"2"), (4, b"other")]
    assert ask(world, lead.record(epoch, both, keep=1000)) == 3
    assert ask(world, lead.record(epoch, [(3, b"3")], keep=1000)) == 1
    assert ask(world, lead.record(epoch - 1, [(3, b"no")], keep=1000)) == 0

    newest = ask(world, lead.decisions("+", 2, 3))
    older = ask(world, lead.decisions("(" + newest[-1][0], 10, 3))
    including = ask(world, lead.decisions(newest[-1][0], 1, 3))
    assert [d for _, d in newest] == [b"3", b"2"]
    assert [d for _, d in older] == [b"1"]
    assert including == newest[1:]


def test_nobody_records_before_anybody_leads(world: World) -> None:
    assert ask(world, lead.record(1, [(0, b"x")], keep=10)) == 0
    assert ask(world, lead.decisions("+", 10, 0)) == []
    assert ask(world, lead.decisions("+", 10)) == []


@pytest.mark.parametrize("keep", [10, 500])
def test_decisions_are_bounded(world: World, keep: int) -> None:
    epoch = campaign(world, "a").epoch

    for _ in range(8):
        ask(world, lead.record(epoch, [(0, b"x")] * 100, keep=keep))

    ask(world, lead.record(epoch, [(1, b"quiet")], keep=keep))
    assert len(ask(world, lead.decisions("+", 1000, 1))) == 1
    kept = len(ask(world, lead.decisions("+", 1000, 0)))
    assert keep <= kept <= keep + 100  # a server trims by whole nodes


def test_what_an_earlier_release_stored_is_read(server_world: World) -> None:
    key = server_world.system + b":decisions"
    for text in (b"1", b"2"):
        server_world.client.xadd(key, {"d": text})

    assert [text for _, text in ask(server_world, lead.decisions("+", 10))] == [b"2", b"1"]


def test_an_absurd_text_is_not_sent(world: World) -> None:
    epoch = campaign(world, "a").epoch
    ask(world, lead.record(epoch, [(0, b"x" * 1_000_000), (0, b"fine")], keep=100))

    assert [text for _, text in ask(world, lead.decisions("+", 10, 0))] == [b"fine", b""]
