"""Business transactions, a third of them rolled back, while relays and the database are killed."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest

from queuepool import Outbox, QueuePool
from queuepool.client.outbox.databases import create, open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.schema import TABLE
from tests.integration.cli.jobs import claim, own_partition
from tests.integration.client.outbox.postgres import Postgres
from tests.paths import ROOT
from tests.waiting import wait_until

TRANSACTIONS, WRITERS = 10_000, 4
PAUSE = Event()  # that nobody sets


@pytest.fixture
def server() -> Iterator[Postgres]:
    made = Postgres()
    try:
        made.start()
        yield made
    finally:
        made.stop()


class Writer(Thread):
    """An application: an order and its job in one transaction, and the next after its outcome."""

    def __init__(self, url: str, outbox: Outbox, first: int, count: int) -> None:
        super().__init__()
        self._url, self._outbox = url, outbox
        self._numbers = range(first, first + count)

    def run(self) -> None:
        draw = random.Random(self._numbers.start)
        connection: psycopg.Connection | None = None
        for number in self._numbers:
            while True:
                try:
                    if connection is None or connection.closed:
                        connection = psycopg.connect(self._url, connect_timeout=2)
                    connection.execute("INSERT INTO orders VALUES (%s)", (number,))
                    self._outbox.add(
                        connection, "ship", {"order": number}, partition_key=f"k{number % 50}",
                        job_id=f"order-{number}",
                    )  # fmt: skip
                    if draw.random() < 1 / 3:
                        connection.rollback()
                    else:
                        connection.commit()
                    break
                except psycopg.errors.UniqueViolation:  # it had committed, and the reply was lost
                    assert connection is not None
                    connection.rollback()
                    break
                except psycopg.Error:
                    if connection is not None:
                        connection.close()
                    connection = None
                    PAUSE.wait(0.05)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_exactly_the_committed_ones_become_jobs(
    server: Postgres, redis_url: str, stage: str, pool: QueuePool
) -> None:
    database = open_database(server.url)
    create(database, TABLE)
    with database.transaction() as execute:
        execute("CREATE TABLE orders (number integer PRIMARY KEY)", ())
    environment = os.environ | {
        "QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "1",
        "QUEUEPOOL_OUTBOX_DATABASE": server.url, "PYTHONPATH": str(ROOT),
    }  # fmt: skip

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "queuepool", "relay", "--interval", "20ms"]
        return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    outbox, each = Outbox(pool), TRANSACTIONS // WRITERS
    writers = [Writer(server.url, outbox, n * each, each) for n in range(WRITERS)]
    relays, draw, kills = [start(), start()], random.Random(7), 0
    try:
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers) or kills < 20:
            PAUSE.wait(draw.uniform(0.2, 1.0))
            chosen = draw.randrange(3)
            if chosen == 2:
                server.kill()
                server.start()
            else:
                relays[chosen].send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM]))
                relays[chosen].wait(30)
                relays[chosen] = start()
            kills += 1
        for writer in writers:
            writer.join()
        wait_until(lambda: _waiting(server.url) == 0, 120)
    finally:
        for relay in relays:
            with suppress(ProcessLookupError):
                relay.kill()
            relay.wait(30)
    with psycopg.connect(server.url) as connection:
        committed = {n for (n,) in connection.execute("SELECT number FROM orders").fetchall()}

    owned, ran = own_partition(pool, 0), list[bytes]()
    while found := claim(owned, 200):
        ran += found
    assert sorted(ran) == sorted(f"order-{n}".encode() for n in committed)
    assert pool.partition(0).observe().counters["enqueued"] == len(committed)
    assert len(committed) > TRANSACTIONS / 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_exactly_the_committed_ones_of_a_file_become_jobs(
    tmp_path: Path, redis_url: str, stage: str, pool: QueuePool
) -> None:
    """SQLite: applications are killed in the middle of transactions, as its server would be."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE orders (number integer PRIMARY KEY)")
    database = open_database(f"sqlite:///{path}")
    create(database, TABLE)
    environment = os.environ | {
        "QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "1",
        "QUEUEPOOL_OUTBOX_DATABASE": f"sqlite:///{path}", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    relay = ["queuepool", "relay", "--interval", "20ms"]
    shops = [["tests.integration.client.outbox.shop", str(path), str(n), "1000"] for n in (1, 1001)]
    commands = [*shops, relay, relay]

    def start(place: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", *commands[place]]
        return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    def orders() -> set[int]:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            return {n for (n,) in connection.execute("SELECT number FROM orders").fetchall()}

    running, draw, kills = [start(n) for n in range(4)], random.Random(7), 0
    expected = {n for n in range(1, 2001) if n % 3}
    try:
        while kills < 20 or orders() != expected:
            PAUSE.wait(draw.uniform(0.2, 1.0))
            place = draw.randrange(4)
            running[place].kill()
            running[place].wait(30)
            running[place] = start(place)
            kills += 1
        wait_until(lambda: Relay(pool, database).waiting() == (0, 0), 120)
    finally:
        for process in running:
            process.kill()
            process.wait(30)

    owned, ran = own_partition(pool, 0), list[bytes]()
    while found := claim(owned, 200):
        ran += found
    assert sorted(ran) == sorted(f"order-{n}".encode() for n in expected)
    assert pool.partition(0).observe().counters["enqueued"] == len(expected)
    database.close()


def _waiting(url: str) -> int:
    with psycopg.connect(url) as connection:
        [(count,)] = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchall()
    return int(count)
