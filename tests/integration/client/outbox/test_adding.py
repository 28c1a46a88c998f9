"""Applications add jobs by whatever they talk to their database with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.orm import Session

from queuepool import (
    AsyncQueuePool,
    InvalidInputError,
    Outbox,
    PayloadTooLargeError,
    QueuePool,
    task,
)
from queuepool.client.outbox.relay import Relay
from queuepool.models import JobState

NewRelay = Callable[..., Relay]


@task(name="outbox.ship", tier="low", unique=("order",))
def ship(order: int) -> None:
    """Ship an order."""


@pytest.fixture
def engine(database_url: str) -> Iterator[sa.Engine]:
    made = sa.create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    yield made
    made.dispose()


def test_a_session_of_sqlalchemy(
    engine: sa.Engine, outbox: Outbox, new_relay: NewRelay, pool: QueuePool
) -> None:
    with Session(engine) as session, session.begin():
        session.execute(sa.text("INSERT INTO orders VALUES (7)"))
        first = outbox.add(session, ship.job(order=7), partition_key="k")
        outbox.add(session, ship.job(order=7), partition_key="k")  # of which there is one at a time
    with Session(engine) as session:
        outbox.add(session, ship.job(order=8), partition_key="k")
        session.rollback()

    assert new_relay().look().moved == 2

    assert pool.group("k").status().total == 1
    status = pool.status(first, partition_key="k")
    assert (status.state, status.task) == (JobState.READY, "outbox.ship")


def test_a_connection_of_sqlalchemy(engine: sa.Engine, outbox: Outbox, new_relay: NewRelay) -> None:
    with engine.begin() as connection:
        outbox.add(connection, "t", {"n": 1}, partition_key="k", delay=60)

    assert new_relay().look().moved == 1


def test_a_connection_of_django(database_url: str, outbox: Outbox, new_relay: NewRelay) -> None:
    from django.db.utils import ConnectionHandler

    if database_url.startswith("sqlite"):
        known: dict[str, Any] = {
            "ENGINE": "django.db.backends.sqlite3", "NAME": database_url.removeprefix("sqlite:///"),
        }  # fmt: skip
    else:
        where = conninfo_to_dict(database_url)
        known = {
            "ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": "app",
            "HOST": where["host"],
        }  # fmt: skip
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure()
        django.setup()
    connection = ConnectionHandler({"default": known})["default"]
    connection.set_autocommit(False)
    outbox.add(connection, "t", {"n": 1}, partition_key="k")
    connection.commit()
    outbox.add(connection, "t", {"n": 2}, partition_key="k")
    connection.rollback()
    connection.close()

    assert new_relay().look().moved == 1


def test_with_the_pool_of_asyncio(connection: Any, new_relay: NewRelay, pool: QueuePool) -> None:
    async def add() -> None:
        async with AsyncQueuePool(config=pool.config) as other:
            Outbox(other).add(connection, "t", {}, partition_key="k")

    asyncio.run(add())
    connection.commit()

    assert new_relay().look().moved == 1


def test_what_enqueue_refuses_is_refused_at_once(connection: Any, outbox: Outbox) -> None:
    with pytest.raises(PayloadTooLargeError):
        outbox.add(connection, "t", {"x": "y" * 3_000_000}, partition_key="k")
    with pytest.raises(InvalidInputError, match="partition_key is missing"):
        outbox.add(connection, "t", {})
    with pytest.raises(InvalidInputError, match="durability does not apply"):
        outbox.add(connection, "t", {}, partition_key="k", durability="fast")
    with pytest.raises(InvalidInputError, match="tier"):
        outbox.add(connection, "t", {}, partition_key="k", tier="urgent")


@pytest.mark.parametrize("spread", [2, 0, "2", 10**6])
def test_a_group_is_not_spread_by_an_outbox(
    connection: Any, outbox: Outbox, new_relay: NewRelay, spread: Any
) -> None:
    with pytest.raises(InvalidInputError, match=r"spread does not apply .* omit it"):
        outbox.add(connection, "t", {}, partition_key="k", spread=spread)
    connection.commit()

    assert new_relay().waiting() == (0, 0)


def test_options_that_say_nothing_may_be_named(
    connection: Any, outbox: Outbox, new_relay: NewRelay, pool: QueuePool
) -> None:
    no: dict[str, Any] = {"durability": None, "spread": None, "run_at": None, "delay": None}
    outbox.add(connection, "t", {}, partition_key="k", **no)
    outbox.add(connection, "t", {}, partition_key="k", spread=1)
    connection.commit()

    assert new_relay().look().moved == 2
    status = pool.group("k").status()
    assert (status.total, status.spread) == (2, 1)


@pytest.mark.parametrize("what", [None, "redis://", object(), Path()])
def test_what_is_no_transaction_is_refused(outbox: Outbox, what: object) -> None:
    with pytest.raises(InvalidInputError, match="not a database transaction"):
        outbox.add(what, "t", {}, partition_key="k")


def test_an_engine_is_refused(engine: sa.Engine, outbox: Outbox) -> None:
    with pytest.raises(InvalidInputError, match="Engine is not a database transaction"):
        outbox.add(engine, "t", {}, partition_key="k")


class _Awaited:
    """Of another library: what it returns has to be awaited, which its methods do not show."""

    async def _later(self) -> None: ...

    def execute(self, *_: object) -> Any:
        return self._later()

    cursor = execute


class _AsyncSession(_Awaited):
    async def execute(self, *_: object) -> None: ...


_AsyncSession.__module__ = "sqlalchemy.ext.asyncio.session"  # which needs more than is installed


class _Wrapped(_Awaited):
    __module__ = "sqlalchemy.ext.asyncio.scoping"


class _AwaitedCursor(_Awaited):
    def cursor(self, *_: object) -> Any:
        cursor = _Awaited()
        vars(cursor)["close"] = lambda: None
        return cursor


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [_AsyncSession, _Wrapped, _Awaited, _AwaitedCursor])
def test_what_would_have_to_be_awaited_is_refused(outbox: Outbox, kind: type[Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"within AsyncSession\.run_sync"):
        outbox.add(kind(), "t", {}, partition_key="k")


@pytest.mark.filterwarnings("error")
def test_an_async_connection_of_psycopg_is_refused(postgres_url: str, outbox: Outbox) -> None:
    async def add() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
            for transaction in (connection, connection.cursor()):
                with pytest.raises(InvalidInputError, match="not a database transaction"):
                    outbox.add(transaction, "t", {}, partition_key="k")

    asyncio.run(add())


@pytest.mark.parametrize("table", ["", "x;drop table y", "Größe", "a" * 41, "a.b.c", '"x"'])
def test_a_table_has_a_plain_name(pool: QueuePool, table: str) -> None:
    with pytest.raises(InvalidInputError, match="lower-case name"):
        Outbox(pool, table)
