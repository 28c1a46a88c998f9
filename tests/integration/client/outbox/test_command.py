"""`queuepool relay`, as it is typed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queuepool import Outbox, QueuePool
from queuepool.cli.exits import Exit
from queuepool.client.outbox.databases import open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.schema import DIALECTS, TABLE, statements
from tests.integration.client.outbox.damaging import damage_first
from tests.shell import Shell


@pytest.fixture
def pool(shell: Shell) -> Iterator[QueuePool]:
    """The pool of the command's own settings."""
    with QueuePool.from_env() as made:
        yield made


def test_another_number_of_partitions_is_refused(
    shell: Shell, database_url: str, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.enqueue("t", {}, partition_key="k")
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "7")

    assert shell.run("relay", "--database", database_url, "--once") == Exit.USAGE
    assert "7 partitions are configured here" in shell.err


def test_once_moves_what_is_there(
    shell: Shell, connection: Any, outbox: Outbox, database_url: str, pool: QueuePool
) -> None:
    for n in range(5):
        outbox.add(connection, "t", {"n": n}, partition_key="k")
    connection.commit()

    assert shell.run("relay", "--database", database_url, "--once", "--json") == Exit.OK

    assert shell.lines == [{"moved": 5, "waiting": 0, "refused": 0}]
    assert pool.group("k").status().total == 5


def test_the_database_may_be_named_by_a_variable(
    shell: Shell, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_OUTBOX_DATABASE", database_url)

    assert shell.run("relay", "--once") == Exit.OK
    assert "0 moved, 0 wait, 0 were refused" in shell.out


def test_a_second_relay_says_so(shell: Shell, database_url: str, pool: QueuePool) -> None:
    first = open_database(database_url)
    assert Relay(pool, first).lock()

    assert shell.run("relay", "--database", database_url, "--once") == Exit.UNAVAILABLE
    assert "another relay holds the lock" in shell.err
    first.close()


def test_tables_are_created_or_shown(shell: Shell, database_url: str) -> None:
    words = ("relay", "--database", database_url, "--table", "other_outbox")
    assert shell.run(*words, "--create") == Exit.OK
    assert shell.run(*words, "--once") == Exit.OK
    assert shell.run(*words, "--create") == Exit.OK
    assert "other_outbox and other_outbox_state are there" in shell.out
    database = open_database(database_url)
    with database.transaction() as execute:
        execute("DROP TABLE other_outbox", ())
        execute("CREATE TABLE other_outbox (id integer)", ())
    assert shell.run(*words, "--create") == Exit.UNAVAILABLE
    assert "delivery" in shell.err
    with database.transaction() as execute:
        execute("DROP TABLE other_outbox", ())
        execute("DROP TABLE other_outbox_state", ())
    database.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_printed_schema_is_that_of_the_tables(shell: Shell, dialect: str) -> None:
    assert shell.run("relay", "--schema", dialect) == Exit.OK

    printed = shell.out.removesuffix(";\n").split(";\n")
    assert tuple(printed) == statements(dialect)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no database"),
        (("--database", "mysql://x/y"), "must begin with postgresql:// or sqlite://"),
        (("--database", "sqlite:///no-such.db"), "there is no such database"),
        (("--database", "sqlite:///no-such.db", "--interval", "0"), "--interval must be above 0"),
        (("--database", "x", "--table", "A b"), "must begin with"),
    ],
)
def test_bad_input_is_told(shell: Shell, words: tuple[str, ...], says: str) -> None:
    assert shell.run("relay", *words) == Exit.USAGE
    assert says in shell.err


def test_once_moves_rows_beside_one_that_is_refused(
    shell: Shell, connection: Any, outbox: Outbox, database_url: str, pool: QueuePool
) -> None:
    for _ in range(2):
        outbox.add(connection, "ship", {}, partition_key="one")
    damage_first(connection, run=(7, b"one", 0))
    connection.commit()

    assert shell.run("relay", "--database", database_url, "--once") == Exit.FAILED

    assert "1 moved, 0 wait, 1 were refused" in shell.out


def test_a_table_of_an_earlier_version_is_told_with_what_to_do(
    shell: Shell, database_url: str, connection: Any
) -> None:
    connection.execute(f"ALTER TABLE {TABLE} DROP COLUMN place")
    connection.commit()

    assert shell.run("relay", "--database", database_url) == Exit.USAGE
    assert f"ALTER TABLE {TABLE} ADD COLUMN place integer" in shell.err

    connection.execute(shell.err.partition("run ")[2].strip())
    connection.commit()
    assert shell.run("relay", "--database", database_url, "--once") == Exit.OK


def test_a_database_that_does_not_answer_or_has_no_table(shell: Shell, database_url: str) -> None:
    away = "postgresql://app@127.0.0.1:1/x"
    assert shell.run("relay", "--database", away, "--once") == Exit.UNAVAILABLE
    assert "the database of the outbox" in shell.err
    missing = ("relay", "--database", database_url, "--table", "no_such", "--once")
    assert shell.run(*missing) == Exit.UNAVAILABLE
    assert "no_such" in shell.err
