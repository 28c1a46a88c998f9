"""The database of an outbox: what its URL may say, and what is told when it fails."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from queuepool.cli.exits import Exit
from queuepool.client.outbox.databases import PostgresDatabase, create, open_database
from queuepool.client.outbox.schema import TABLE
from queuepool.errors import ConfigurationError, UnavailableError
from tests.shell import Shell


def _setting(url: str, name: str) -> str:
    with closing(open_database(url)) as database, database.transaction() as execute:
        [(value,)] = execute(f"SHOW {name}", ())
    return str(value)


def test_options_of_the_url_and_of_the_environment_apply(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _setting(f"{postgres_url}&options=-csearch_path%3Dshop", "search_path") == "shop"
    assert _setting(f"{postgres_url}&options=-cstatement_timeout%3D7000", "statement_timeout") == (
        "7s"
    )
    monkeypatch.setenv("PGOPTIONS", "-c search_path=other")
    assert _setting(postgres_url, "search_path") == "other"


def test_statements_are_limited(postgres_url: str) -> None:
    assert _setting(postgres_url, "statement_timeout") == "10s"


def test_a_connection_whose_other_end_is_silent_is_given_up(postgres_url: str) -> None:
    def parameters(url: str) -> dict[str, str]:
        with closing(PostgresDatabase(url)) as database:
            return database._connection.info.get_parameters()

    found = parameters(postgres_url)
    assert (found["keepalives_idle"], found["tcp_user_timeout"]) == ("10", "25000")
    assert parameters(f"{postgres_url}&keepalives_idle=99")["keepalives_idle"] == "99"


def test_a_url_that_cannot_be_read_is_told_without_its_password(shell: Shell) -> None:
    url = "postgresql://app:secret%zz@127.0.0.1:1/x"
    assert shell.run("relay", "--database", url, "--once") == Exit.USAGE
    assert "write % / ? # @ and : in a password as %25" in shell.err
    assert "secret" not in shell.err


def test_a_password_with_a_bracket_is_a_password(shell: Shell) -> None:
    url = "postgresql://app:p[w@127.0.0.1:1/x"
    assert shell.run("relay", "--database", url, "--once") == Exit.UNAVAILABLE


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A file of SQLite with an outbox."""
    path = tmp_path / "shop.db"
    path.touch()
    with closing(open_database(f"sqlite:///{path}")) as database:
        create(database, TABLE)
    return path


def test_a_file_that_cannot_be_opened_is_told(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object, **_options: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", fail)
    with pytest.raises(UnavailableError, match=r"shop\.db: unable to open database file"):
        open_database(f"sqlite:///{shop}")


def test_a_full_disk_is_told(shop: Path) -> None:
    with closing(open_database(f"sqlite:///{shop}")) as database:
        with database.transaction() as execute:
            execute("CREATE TABLE filler (content blob)", ())
        with closing(sqlite3.connect(shop)) as other:
            [pages] = other.execute("PRAGMA page_count").fetchone()
        database._connection.execute(f"PRAGMA max_page_count = {pages}")  # type: ignore[attr-defined]
        with pytest.raises(UnavailableError, match="full"), database.transaction() as execute:
            execute("INSERT INTO filler VALUES (?)", (os.urandom(100_000),))


def test_a_url_of_sqlite_has_three_slashes() -> None:
    for url in ("sqlite://shop.db", "sqlite:///"):
        with pytest.raises(ConfigurationError, match="must begin with"):
            open_database(url)
