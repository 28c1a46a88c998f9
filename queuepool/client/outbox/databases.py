"""The database of an outbox, as the relay uses it: short transactions, and a lock for one relay."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from queuepool.client.outbox.schema import statements
from queuepool.errors import ConfigurationError, UnavailableError

_TIMEOUT_S = 10.0
# How soon a connection counts as lost whose other end is silent: to us, and to the server, which
# keeps the lock of a relay until then. By default, that is more than two hours.
_IDLE_S, _INTERVAL_S, _COUNT = 10, 5, 3
_SILENT_MS = (_IDLE_S + _INTERVAL_S * _COUNT) * 1000
_CONNECTION = {
    "connect_timeout": round(_TIMEOUT_S), "keepalives_idle": _IDLE_S,
    "keepalives_interval": _INTERVAL_S, "keepalives_count": _COUNT, "tcp_user_timeout": _SILENT_MS,
}  # fmt: skip
# Of the session: set unless it is limited already, and as far as the server knows them. They are no
# `options` of the connection, which would replace those of the URL or of PGOPTIONS.
_SESSION = {
    "statement_timeout": round(_TIMEOUT_S * 1000), "tcp_keepalives_idle": _IDLE_S,
    "tcp_keepalives_interval": _INTERVAL_S, "tcp_keepalives_count": _COUNT,
    "tcp_user_timeout": _SILENT_MS,
}  # fmt: skip
_KIND = re.compile(r"\ACREATE (?:TABLE|INDEX) ")
Cursor = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


class Database(Protocol):
    """One connection. mark: of a parameter in SQL."""

    dialect: str
    mark: str

    def transaction(self) -> contextlib.AbstractContextManager[Cursor]:
        """Run statements in a transaction of their own; committed at its end.

        Raises UnavailableError, after which the connection is of no more use.
        """

    def lock(self, name: str) -> bool:
        """Take the lock of a name unless another connection has it; it ends with the connection."""

    def close(self) -> None:
        """Close the connection. Idempotent."""


def open_database(url: str) -> Database:
    """Connect. Raises ConfigurationError for a bad URL, UnavailableError if nothing answers."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and re.match("/.", rest):
        path = unquote(urlsplit(url).path)  # after three slashes a relative one, after four not
        return SqliteDatabase(path.removeprefix("/"))
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url)
    raise ConfigurationError(
        "the database's URL must begin with postgresql:// or sqlite:///, such as "
        "postgresql://app@db/shop or sqlite:///shop.db"
    )


def create(database: Database, table: str) -> None:
    """Create the tables of an outbox unless they exist. Raises UnavailableError if others do."""
    with database.transaction() as execute:
        for statement in statements(database.dialect, table):
            execute(_KIND.sub(r"\g<0>IF NOT EXISTS ", statement), ())
        execute(f"SELECT id, delivery, place, task, job_id, job FROM {table} LIMIT 0", ())  # noqa: S608
        execute(f"SELECT one, outbox, last_delivery FROM {table}_state LIMIT 0", ())  # noqa: S608


def identity(database: Database, table: str) -> str:
    """Return the name of this outbox, which no other has; it is made when it is first asked for."""
    with database.transaction() as execute:
        execute(
            f"INSERT INTO {table}_state (one, outbox) VALUES (1, {database.mark}) "  # noqa: S608
            "ON CONFLICT DO NOTHING",
            (uuid.uuid4().hex,),
        )
        [(name,)] = execute(f"SELECT outbox FROM {table}_state", ())  # noqa: S608
    return str(name)


class SqliteDatabase:
    """A file of SQLite. The lock is one of a file beside it."""

    dialect, mark = "sqlite", "?"

    def __init__(self, path: str) -> None:
        if not Path(path).is_file():
            raise ConfigurationError(f"{path}: there is no such database")
        self._path = path
        self._locked: int | None = None
        try:
            self._connection = sqlite3.connect(
                path, timeout=_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise UnavailableError(f"the database of the outbox, {path}: {error}") from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """See Database."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield lambda sql, values: self._connection.execute(sql, values).fetchall()
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled it back already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise UnavailableError(f"the database of the outbox: {error}") from error

    def lock(self, name: str) -> bool:
        """See Database."""
        path = f"{self._path}.{name}.lock"
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise UnavailableError(f"the lock of the outbox, {path}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._locked = descriptor
        return True

    def close(self) -> None:
        """See Database."""
        self._connection.close()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None


class PostgresDatabase:
    """A connection to PostgreSQL. The lock is an advisory one of the session."""

    dialect, mark = "postgresql", "%s"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise ConfigurationError(
                "PostgreSQL needs the extra `outbox`: pip install 'queuepool[outbox]'"
            ) from error
        self._library = psycopg
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:  # its text may quote a part of a password
            raise ConfigurationError(
                "the URL of the outbox's database cannot be read: check its options, and write "
                "% / ? # @ and : in a password as %25 %2F %3F %23 %40 and %3A"
            ) from None
        try:
            options: dict[str, Any] = {**_CONNECTION, **given}
            self._connection = psycopg.connect(autocommit=True, **options)
            self._set_up()
        except psycopg.Error as error:
            raise UnavailableError(f"the database of the outbox: {_line(error)}") from error

    def _set_up(self) -> None:
        wanted = ", ".join(f"('{name}', '{value}')" for name, value in _SESSION.items())
        self._connection.execute(
            "SELECT set_config(name, wanted, false) FROM pg_settings "  # noqa: S608 - constants
            f"JOIN (VALUES {wanted}) AS own (own, wanted) ON name = own "
            "WHERE name <> 'statement_timeout' OR setting = '0'"
        )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """See Database."""

        def execute(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
            cursor = self._connection.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

        try:
            with self._connection.transaction():
                yield execute
        except self._library.Error as error:
            raise UnavailableError(f"the database of the outbox: {_line(error)}") from error

    def lock(self, name: str) -> bool:
        """See Database."""
        with self.transaction() as execute:
            [(taken,)] = execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,))
        return bool(taken)

    def close(self) -> None:
        """See Database."""
        self._connection.close()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
