"""Coordinators over a real server: turned by hand, so nothing depends on time."""

import json

import pytest
import redis

from coordinator.assembly import assemble
from coordinator.core.events import CommandRefused
from coordinator.settings import load
from queuepool.client.pool import QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.verbs.leader import verbs as lead
from tests.conftest import ServerFactory
from tests.integration.coordinator.cluster import BRIEF, FAST, FakeOwner, look
from tests.integration.coordinator.conftest import StartCoordinator
from tests.waiting import wait_until


def test_one_of_two_leads_and_the_other_knows_who(
    pool: QueuePool, coordinate: StartCoordinator
) -> None:
    first, second = coordinate(name="first:1"), coordinate(name="second:1")

    first.loop.turn()
    second.loop.turn()

    assert first.store.snapshot.leading
    assert not second.store.snapshot.leading
    assert second.store.snapshot.leader_address == "first:1"
    assert look(pool).epoch == first.leadership.epoch


def test_after_a_resignation_a_standby_leads_at_its_next_turn(
    coordinate: StartCoordinator,
) -> None:
    first, second = coordinate(lease_s=60), coordinate(lease_s=60)
    first.loop.turn()
    second.loop.turn()

    first.leadership.resign()
    second.loop.turn()

    assert second.store.snapshot.leading
    assert second.leadership.epoch > first.leadership.epoch


def test_a_new_leader_takes_over_the_count_that_it_finds(
    pool: QueuePool, coordinate: StartCoordinator
) -> None:
    owner = FakeOwner(pool.partition(0), workers=40)
    coordinator = coordinate()

    for _ in range(3):
        coordinator.loop.turn()
        owner.renew()

    assert owner.scales() == []
    assert owner.heard[0].type == "NOOP"
    state = pool.partition(0).observe()
    assert state.checkpoint == 40


def test_a_deep_backlog_becomes_commands_with_reasons(
    pool: QueuePool, coordinate: StartCoordinator
) -> None:
    owner = FakeOwner(pool.partition(0))
    coordinator = coordinate()
    coordinator.loop.turn()
    key = next(k for k in map(str, range(99)) if pool.producer.route(k).partition == 0)
    pool.enqueue_many("work", ({"n": n} for n in range(2_000)), partition_key=key)

    for _ in range(12):
        coordinator.loop.turn()
        owner.obey()

    assert owner.scales()[-1].type == "SCALE_UP"
    assert owner.scales()[-1].target_workers > 8
    assert "PWQD" in owner.scales()[0].reason
    assert pool.partition(0).observe().checkpoint == owner.workers
    targets = [c.target_workers for c in owner.scales()]
    assert targets == sorted(set(targets))


def test_decisions_are_kept_with_their_inputs_and_paged(
    pool: QueuePool, coordinate: StartCoordinator
) -> None:
    owners = [FakeOwner(pool.partition(n)) for n in (0, 1)]
    coordinator = coordinate(policy="static", workers=11)
    for _ in range(4):
        coordinator.loop.turn()
        for owner in owners:
            owner.obey()

    everything, end = coordinator.book.page("", 100)
    first_page, token = coordinator.book.page("", 3)
    second_page, _ = coordinator.book.page(token, 3)
    ours, _ = coordinator.book.page("", 100, partition=1)

    assert end == ""
    assert [*first_page, *second_page] == everything[:6]
    assert [i for i, _ in everything] == sorted((i for i, _ in everything), reverse=True)
    assert {record.partition for _, record in ours} == {1}
    up = next(record for _, record in ours if record.target > record.previous)
    assert (up.previous, up.target, up.policy) == (8, 11, "static")
    assert up.inputs is not None
    assert up.inputs.workers == 8
    assert up.command == f"{coordinator.leadership.epoch}-1"


def test_decisions_of_another_version_are_skipped(
    pool: QueuePool, coordinate: StartCoordinator
) -> None:
    coordinator = coordinate()
    coordinator.loop.turn()
    before, _ = coordinator.book.page("", 100)
    server, key = pool.system
    alien = lead.record(
        coordinator.leadership.epoch, [(0, b"{"), (0, json.dumps({"x": 1}).encode())], keep=100
    )
    server.run(key, [alien])

    after, _ = coordinator.book.page("", 100)

    assert after == before


def test_a_stale_leader_is_refused_by_every_partition(
    pool: QueuePool, coordinate: StartCoordinator
) -> None:
    owner = FakeOwner(pool.partition(0))
    old, new = coordinate(lease_s=60), coordinate()
    old.loop.turn()
    old_epoch = old.leadership.epoch
    old.leadership.resign()
    new.loop.turn()
    # What the old leader sends now, it sent in the belief that it leads.
    verb = lead.command(
        old_epoch, 7, type="SCALE_UP", partition=0, target_workers=60, reason="late",
        expires_ms=10_000,
    )  # fmt: skip

    accepted, newest = pool.partition(0).run(verb)

    assert not accepted
    assert newest == f"{new.leadership.epoch}-0"
    assert not pool.partition(0).run(lead.checkpoint(old_epoch, 60))
    owner.obey()
    assert owner.scales() == []


def test_a_term_that_outlived_its_lead_emits_refusals_and_changes_nothing(
    pool: QueuePool, coordinate: StartCoordinator
) -> None:
    owner = FakeOwner(pool.partition(0))
    old, new = coordinate(lease_s=60), coordinate()
    old.loop.turn()
    term = old.loop._term
    assert term is not None
    refused: list[object] = []
    term._emit = refused.append
    old.leadership.resign()
    new.loop.turn()
    term._may_act = lambda: True  # a process that was stopped in mid-cycle, and continues

    for _ in range(2):
        term.begin(old.loop._planned, {0: 60}, now_ms=0)
        old.loop._parts.observer.observe(term.consider)
        term.act({})

    assert any(isinstance(event, CommandRefused) for event in refused)
    owner.obey()
    assert owner.scales() == []


def test_an_outage_holds_everything_and_ends_by_itself(
    server_factory: ServerFactory, stage: str
) -> None:
    main, other = server_factory(), server_factory()
    topology = build({"main": main.url, "other": other.url}, 2, "0=main,1=other")
    config = PoolConfig(topology=topology, keyspace=Keyspace(stage), timeout_s=30.0)
    with QueuePool(config=config) as pool:
        coordinator = assemble(pool, load(FAST))
        owners = [FakeOwner(pool.partition(n), workers=30) for n in (0, 1)]
        for _ in range(2):
            coordinator.loop.turn()
        other.kill()

        for _ in range(3):
            coordinator.loop.turn()

        seen, unseen = coordinator.store.snapshot.partitions
        assert seen.problem == ""
        assert "127.0.0.1" in unseen.problem
        assert unseen.target == 30
        assert coordinator.store.snapshot.servers == {"main": True, "other": False}
        assert coordinator.store.snapshot.leading

        other.start()  # empty, and it knows no script
        owners[1] = FakeOwner(pool.partition(1), workers=10)
        coordinator.loop.turn()
        coordinator.loop.turn()
        assert coordinator.store.snapshot.partitions[1].problem == ""
        owners[1].obey()
        assert owners[1].workers == 30  # the count that was held, told again
        coordinator.stop()


def test_losing_the_server_of_the_lead_ends_the_lead_and_it_comes_back(
    server_factory: ServerFactory, stage: str
) -> None:
    server = server_factory()
    topology = build({"main": server.url}, 1, "")
    config = PoolConfig(topology=topology, keyspace=Keyspace(stage), timeout_s=0.3)
    with QueuePool(config=config) as pool:
        coordinator = assemble(pool, load(FAST | BRIEF))
        coordinator.start()
        wait_until(lambda: coordinator.store.snapshot.leading)
        first_epoch = coordinator.leadership.epoch
        server.kill()
        wait_until(lambda: not coordinator.store.snapshot.leading)
        wait_until(lambda: coordinator.loop.idle_s < 5.0)  # it goes on turning

        server.start()

        wait_until(lambda: coordinator.store.snapshot.leading)
        assert coordinator.leadership.epoch > first_epoch
        assert coordinator.stop()


@pytest.mark.parametrize("damage", [("o", "workers", "x"), ("ck", "target", "many")])
def test_a_damaged_number_hides_no_partition(
    pool: QueuePool, coordinate: StartCoordinator, redis_url: str, damage: tuple[str, str, str]
) -> None:
    FakeOwner(pool.partition(0))
    coordinator = coordinate()
    suffix, field, value = damage
    with redis.Redis.from_url(redis_url) as client:
        client.hset(pool.partition(0).key.decode() + f":{suffix}", field, value)

    coordinator.loop.turn()

    damaged, sound = coordinator.store.snapshot.partitions
    assert damaged.state is not None
    assert damaged.problem == sound.problem == ""


@pytest.mark.parametrize("suffix", ["o", "ck"])
def test_a_record_of_another_type_costs_its_partition_only(
    pool: QueuePool, coordinate: StartCoordinator, redis_url: str, suffix: str
) -> None:
    coordinator = coordinate()
    with redis.Redis.from_url(redis_url) as client:
        client.set(pool.partition(0).key.decode() + f":{suffix}", "a text")

    coordinator.loop.turn()

    damaged, sound = coordinator.store.snapshot.partitions
    assert "WRONGTYPE" in damaged.problem
    assert sound.problem == ""
