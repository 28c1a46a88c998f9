"""Rows of an outbox that are to run at a time do so, however late the relay moves them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from queuepool import Job, Outbox
from queuepool.client.outbox.databases import create, open_database
from queuepool.client.outbox.relay import Relay
from queuepool.client.outbox.rows import decode, encode
from queuepool.client.outbox.schema import TABLE
from queuepool.models import JobState
from queuepool.testing.clock import START_S
from tests.unit.client.moving import Space

HOUR_MS = 3_600_000


class Shop:
    """An application, and a relay that moves its rows at a time of ours."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self.space = Space(2)
        self.pool = self.space.pool(2)
        self.database = open_database(f"sqlite:///{path}")
        create(self.database, TABLE)
        self.connection = sqlite3.connect(path)
        self.outbox = Outbox(self.pool)
        self.due = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)

    def add(self, *task: Any, **options: Any) -> str:
        job_id = self.outbox.add(self.connection, *task, partition_key="k", **options)
        self.connection.commit()
        return str(job_id)

    def delay_ms(self, job_id: str, *, moved: timedelta) -> int:
        """Move rows so long after the job is due; return in how many ms it becomes ready."""
        now_ms = round((self.due + moved).timestamp() * 1000)
        assert Relay(self.pool, self.database, now_ms=lambda: now_ms).look().moved == 1
        status = self.pool.status(job_id)
        if status.state is JobState.READY:
            return 0
        assert status.state is JobState.DELAYED
        assert status.at_ms is not None
        return status.at_ms - round(START_S * 1000)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "shop.db")
    yield made
    made.connection.close()
    made.database.close()


@pytest.mark.parametrize(
    ("moved_s", "left_ms"), [(-3600, HOUR_MS), (-60, 60_000), (0, 0), (7200, 0)]
)
def test_a_row_waits_for_its_time_only_as_long_as_is_left(
    shop: Shop, moved_s: int, left_ms: int
) -> None:
    job_id = shop.add("t", {}, run_at=shop.due)

    assert shop.delay_ms(job_id, moved=timedelta(seconds=moved_s)) == left_ms


def test_a_delay_counts_from_when_the_row_is_moved(shop: Shop) -> None:
    job_id = shop.add("t", {}, delay=timedelta(hours=1))

    assert shop.delay_ms(job_id, moved=timedelta(hours=5)) == HOUR_MS


def test_the_delay_of_a_job_comes_before_the_time_of_the_call(shop: Shop) -> None:
    job_id = shop.add(Job({}, task="t", delay=60), run_at=shop.due)

    assert shop.delay_ms(job_id, moved=timedelta(hours=5)) == 60_000


def test_a_time_without_a_zone_is_refused_and_leaves_no_row(shop: Shop) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        shop.add("t", {}, run_at=datetime(2030, 1, 1))  # noqa: DTZ001
    assert Relay(shop.pool, shop.database).waiting() == (0, 0)


class _OlderRow(msgspec.Struct, array_like=True, frozen=True):
    """As earlier versions read it."""

    version: int
    pool: str
    run: tuple[int, bytes, int]
    job_id: bytes
    tail: bytes
    wish: tuple[bytes | int, ...] = ()


def test_rows_of_earlier_versions_are_read_and_those_read_newer_ones(shop: Shop) -> None:
    producer = shop.pool.producer
    chunk = producer.single(producer.defaults("t", delay_s=60.0), {}, "k", None)
    raw = encode(chunk, due_ms=123)

    older = msgspec.msgpack.decode(raw, type=_OlderRow)
    row = decode(msgspec.msgpack.encode(older))

    assert older.run == (*decode(raw).run[:2], 60_000)
    assert (row.due_ms, row.run_at(10**13)) == (None, older.run)
    assert decode(raw) == msgspec.structs.replace(row, due_ms=123)
    assert decode(raw).run_at(23)[2] == 100
