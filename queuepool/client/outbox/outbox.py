"""`Outbox`: what an application adds jobs by, in its own transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from queuepool.client import calls
from queuepool.client.outbox.rows import encode
from queuepool.client.outbox.schema import TABLE, checked
from queuepool.errors import InvalidInputError
from queuepool.models import JobId
from queuepool.tasks.job import Job
from queuepool.telemetry.spans import enqueueing

if TYPE_CHECKING:
    from queuepool.client.producer import Producer

_COLUMNS = ("task", "job_id", "job")


class _Pool(Protocol):
    @property
    def producer(self) -> Producer: ...


class Outbox:
    """Adds jobs in the transaction of an application, so that they exist if it commits.

    `queuepool relay` moves them to their partitions, each once.

        outbox = Outbox(pool)
        with Session(engine) as session, session.begin():
            session.add(order)
            outbox.add(session, send_receipt.job(order=7), partition_key="orders")

    table: see queuepool.client.outbox.schema. Nothing here talks to a server. Safe to share between
    threads, as its pool is.
    """

    def __init__(self, pool: _Pool, table: str = TABLE) -> None:
        self._producer, self._table = pool.producer, checked(table)

    def add(
        self,
        transaction: Any,
        task: calls.AnyTask | Job[Any],
        payload: Mapping[str, Any] | None = None,
        **options: Unpack[calls.EnqueueOptions],
    ) -> JobId:
        """Add one job; returns its id. Arguments and options are those of `QueuePool.enqueue`.

        transaction: a Session or Connection of SQLAlchemy, a connection of Django, or one of
        sqlite3 or psycopg, in which the application's own changes are made. delay: counts from when
        the relay moves the job; run_at: whenever that is. Raises InvalidInputError for what
        `enqueue` would refuse, and what the database raises.
        """
        if options.pop("durability", None) is not None:
            raise InvalidInputError(
                "durability does not apply to an outbox, since the database keeps the job until it "
                "is enqueued: omit it"
            )
        if options.pop("spread", None) not in (None, 1):
            raise InvalidInputError(
                "spread does not apply to an outbox, which asks no server whether the group may be "
                "spread: omit it and use several partition keys, or let the job enqueue the group "
                "with spread"
            )
        with enqueueing(task) as span:
            chunk, known = calls.one(self._producer, task, payload, trace=span.parent, **options)
            name = known.name if known is not None else _name_of(task)
            job_id = chunk.ids[0].decode()
            row = encode(chunk, _due_ms(task, options.get("run_at")))
            _insert_by(transaction)(self._table, (name, job_id, row))
            span.enqueued(job_id=job_id)
        return JobId(job_id)


def _name_of(task: Any) -> str:
    named = task.task if isinstance(task, Job) else task
    return str(named if isinstance(named, str) else getattr(named, "name", named))


def _due_ms(task: Any, run_at: datetime | None) -> int | None:
    """Return when the job becomes ready, if the call says so; a delay of the job comes first."""
    own = isinstance(task, Job) and (task.delay, task.delay_s) != (None, None)
    return None if run_at is None or own else round(run_at.timestamp() * 1000)


def _insert_by(transaction: Any) -> Callable[[str, tuple[str, str, bytes]], None]:
    modules = {kind.__module__.partition(".")[0] for kind in type(transaction).__mro__}
    execute, cursor = (getattr(transaction, name, None) for name in ("execute", "cursor"))
    if not iscoroutinefunction(execute) and not iscoroutinefunction(cursor):
        if "sqlalchemy" in modules and callable(execute):
            return _SqlAlchemy(transaction).insert
        if callable(cursor):
            mark = "?" if "sqlite3" in modules else "%s"
            return _Cursors(transaction, mark).insert
    raise _refused(transaction)


def _refused(transaction: Any) -> InvalidInputError:
    return InvalidInputError(
        f"{type(transaction).__name__} is not a database transaction: pass a Session or "
        "Connection of SQLAlchemy (within AsyncSession.run_sync, the session that it gives), "
        "django.db.connection, or a connection of sqlite3 or psycopg"
    )


def _refuse_awaitable(transaction: Any, answer: Any) -> None:
    # Nothing is written until it is awaited, and nobody will do that.
    if not isawaitable(answer):
        return
    end = getattr(answer, "close", None) or getattr(answer, "cancel", None)
    if end is not None:
        end()
    raise _refused(transaction)


class _SqlAlchemy:
    def __init__(self, transaction: Any) -> None:
        self._transaction = transaction

    def insert(self, table: str, values: tuple[str, str, bytes]) -> None:
        from sqlalchemy import text

        marks = ", ".join(f":{name}" for name in _COLUMNS)
        insert = text(f"INSERT INTO {table} ({', '.join(_COLUMNS)}) VALUES ({marks})")  # noqa: S608
        answer = self._transaction.execute(insert, dict(zip(_COLUMNS, values, strict=True)))
        _refuse_awaitable(self._transaction, answer)


class _Cursors:
    """A connection by the rules of DB-API: Django's, sqlite3's, psycopg's."""

    def __init__(self, connection: Any, mark: str) -> None:
        self._connection, self._mark = connection, mark

    def insert(self, table: str, values: tuple[str, str, bytes]) -> None:
        marks = ", ".join([self._mark] * len(_COLUMNS))
        insert = f"INSERT INTO {table} ({', '.join(_COLUMNS)}) VALUES ({marks})"  # noqa: S608
        cursor = self._connection.cursor()
        _refuse_awaitable(self._connection, cursor)
        try:
            _refuse_awaitable(self._connection, cursor.execute(insert, values))
        finally:
            cursor.close()
