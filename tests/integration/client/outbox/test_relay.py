"""Rows become jobs if their transaction commits, and then once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queuepool import Outbox, QueuePool, UnavailableError
from queuepool.client.outbox.databases import create, identity, open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.schema import TABLE
from queuepool.models import JobState
from tests.integration.cli.jobs import claim, own_partition
from tests.integration.client.outbox.damaging import damage_first
from tests.relays import look_and_die
from tests.waiting import wait_until

NewRelay = Callable[..., Relay]


def count(connection: Any, where: str = "1 = 1") -> int:
    [(found,)] = connection.execute(f"SELECT count(*) FROM {TABLE} WHERE {where}").fetchall()
    return int(found)


def enqueued(pool: QueuePool) -> int:
    return sum(p.observe().counters.get("enqueued", 0) for p in pool.partitions())


def test_what_commits_becomes_a_job_and_what_does_not_does_not(
    connection: Any, outbox: Outbox, new_relay: NewRelay, pool: QueuePool
) -> None:
    connection.execute("INSERT INTO orders VALUES (1)")
    kept = outbox.add(connection, "ship", {"order": 1}, partition_key="orders", tier="high")
    connection.commit()
    lost = outbox.add(connection, "ship", {"order": 2}, partition_key="orders")
    connection.rollback()
    relay = new_relay()

    assert relay.waiting() == (1, 0)
    assert relay.look().moved == 1

    status = pool.status(kept, partition_key="orders")
    assert (status.state, status.task) == (JobState.READY, "ship")
    assert status.tier is not None
    assert status.tier.name == "HIGH"
    assert pool.status(lost, partition_key="orders").state is JobState.UNKNOWN
    assert relay.waiting() == (0, 0)
    assert relay.look().moved == 0


def test_rows_of_a_key_keep_their_order(
    connection: Any, outbox: Outbox, new_relay: NewRelay, pool: QueuePool
) -> None:
    ids = [
        outbox.add(connection, "ship", {"n": n}, partition_key="one").encode() for n in range(450)
    ]
    connection.commit()

    assert new_relay().look().moved == 450

    owned = own_partition(pool, pool.group("one").partition.number)
    found: list[bytes] = []
    while len(found) < 450:
        found += claim(owned, 150)
    assert found == ids


def test_a_relay_that_dies_between_sending_and_deleting_adds_nothing_twice(
    connection: Any,
    outbox: Outbox,
    new_relay: NewRelay,
    pool: QueuePool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for n in range(300):
        outbox.add(connection, "ship", {"n": n}, partition_key="one")
    connection.commit()
    look_and_die(new_relay(), monkeypatch)
    owned = own_partition(pool, pool.group("one").partition.number)
    assert len(claim(owned, 100)) == 100
    outbox.add(connection, "ship", {"n": 300}, partition_key="one")
    connection.commit()

    assert count(connection, "delivery > 0") == 300
    second = new_relay()
    while second.look().moved:
        pass

    assert enqueued(pool) == 301
    assert count(connection) == 0


def test_one_relay_at_a_time(new_relay: NewRelay, database_url: str, pool: QueuePool) -> None:
    first = open_database(database_url)
    assert Relay(pool, first).lock()
    second = new_relay()

    assert not second.lock()
    first.close()
    wait_until(second.lock, message="the lock of a relay that has gone")


def test_an_older_state_of_the_database_hides_no_new_rows(
    connection: Any, outbox: Outbox, new_relay: NewRelay, pool: QueuePool
) -> None:
    """As after the restore of a backup: the numbers of deliveries go back."""
    outbox.add(connection, "ship", {}, partition_key="one")
    connection.commit()
    assert new_relay().look().moved == 1
    connection.execute(f"UPDATE {TABLE}_state SET last_delivery = 0")
    outbox.add(connection, "ship", {}, partition_key="one")
    connection.commit()

    assert new_relay().look().moved == 1
    assert enqueued(pool) == 2


def test_a_row_that_cannot_be_read_is_set_aside_and_others_go_on(
    connection: Any, outbox: Outbox, new_relay: NewRelay, pool: QueuePool
) -> None:
    connection.execute(f"INSERT INTO {TABLE} (task, job_id, job) VALUES ('t', 'x', '\\x00')")
    outbox.add(connection, "ship", {}, partition_key="one")
    connection.commit()
    relay = new_relay()

    assert relay.look().moved == 1
    assert relay.waiting() == (0, 1)
    assert enqueued(pool) == 1
    assert relay.look().moved == 0


@pytest.mark.parametrize(
    "damage",
    [
        {"run": (7, b"one", 0)},
        {"run": (2, b"other", 0)},
        {"run": (2, b"one", -5)},
        {"job_id": b"x" * 1000},
        {"tail": b"5c9"},
        {"wish": (b"key",)},
        {"pool": "no pool"},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_row_is_set_aside_and_others_go_on(
    connection: Any, outbox: Outbox, new_relay: NewRelay, pool: QueuePool, damage: dict[str, Any]
) -> None:
    for _ in range(2):
        outbox.add(connection, "ship", {}, partition_key="one")
    damage_first(connection, **damage)
    connection.commit()
    relay = new_relay()

    while (look := relay.look()).moved or look.again:
        pass

    assert relay.waiting() == (0, 1)
    assert enqueued(pool) == 1
    assert all(partition.audit().clean for partition in pool.partitions())


def test_a_full_partition_keeps_its_rows_and_no_others(
    connection: Any, new_relay: NewRelay, wide: QueuePool, database_url: str
) -> None:
    outbox = Outbox(wide)
    keys = {wide.group(f"k{n}").partition.number: f"k{n}" for n in range(30)}
    for n in range(250):
        outbox.add(connection, "ship", {"n": n}, partition_key=keys[n % 2])
    connection.commit()
    database = open_database(database_url)
    relay = Relay(wide, database)
    wide.enqueue_many("t", [{}] * 150, partition_key=keys[0])

    found = relay.look()

    assert (found.moved, found.kept) == (125, 125)
    assert "is full" in str(found.problems)
    assert relay.waiting() == (125, 0)
    assert relay.look().kept == 125
    database.close()


def test_a_lock_that_cannot_be_made_says_where(pool: QueuePool, tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    file.touch()
    database = open_database(f"sqlite:///{file}")
    create(database, TABLE)
    relay = Relay(pool, database)
    name = f"shop.db.queuepool-relay-{identity(database, TABLE)}.lock"
    (tmp_path / name).mkdir()

    with pytest.raises(UnavailableError, match=f"{name}: Is a directory"):
        relay.lock()
    database.close()
