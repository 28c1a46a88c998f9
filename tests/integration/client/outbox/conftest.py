"""Databases of applications: a file of SQLite, and a PostgreSQL server where one is installed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from queuepool import Outbox, QueuePool
from queuepool.client.outbox.databases import create, open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.schema import TABLE
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.integration.client.outbox.postgres import Postgres


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a server of PostgreSQL."""
    server = Postgres()
    try:
        server.start()
        yield server.url
    finally:
        server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database with the tables of an outbox."""
    if request.param == "sqlite":
        path = tmp_path / "shop.db"
        path.touch()
        url = f"sqlite:///{path}"
    else:
        url = request.getfixturevalue("postgres_url")
    database = open_database(url)
    create(database, TABLE)
    with database.transaction() as execute:
        execute("CREATE TABLE orders (number integer PRIMARY KEY)", ())
    yield url
    if request.param == "postgresql":
        with database.transaction() as execute:
            execute(f"DROP TABLE orders, {TABLE}, {TABLE}_state", ())
    database.close()


@pytest.fixture
def connection(database_url: str) -> Iterator[Any]:
    """The application's own connection, in no transaction."""
    with closing(_connected(database_url)) as made:
        yield made


def _connected(url: str) -> Any:
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///"))
    return psycopg.connect(url)


@pytest.fixture
def wide(redis_url: str, stage: str) -> Iterator[QueuePool]:
    """Two partitions for at most 200 jobs each."""
    config = PoolConfig(
        topology=single(redis_url, 2), keyspace=Keyspace(stage + "-wide"), max_depth=200
    )
    with QueuePool(config=config) as made:
        yield made


@pytest.fixture
def outbox(pool: QueuePool) -> Outbox:
    return Outbox(pool)


@pytest.fixture
def new_relay(pool: QueuePool, database_url: str) -> Iterator[Callable[..., Relay]]:
    """Make relays, each with a connection of its own."""
    made = []

    def make(**options: Any) -> Relay:
        made.append(open_database(database_url))
        return Relay(pool, made[-1], **options)

    yield make
    for database in made:
        database.close()
