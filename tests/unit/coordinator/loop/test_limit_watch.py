"""Metrics of limits: what was seen last, of at most 100; nothing while servers cannot be read."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from coordinator.loop.limit_watch import SHOWN, LimitWatch
from coordinator.snapshots.limits import LimitBoard
from coordinator.snapshots.store import SnapshotStore
from coordinator.telemetry.metrics import Metrics
from queuepool import Limit, UnavailableError
from queuepool.testing import MemoryPool
from queuepool.verbs.limits import verbs as limit
from queuepool.verbs.owner.replies import Ownership


@pytest.fixture
def pool() -> MemoryPool:
    return MemoryPool(3)


@pytest.fixture
def board() -> LimitBoard:
    return LimitBoard()


@pytest.fixture
def registry(board: LimitBoard) -> CollectorRegistry:
    registry = CollectorRegistry()
    Metrics(registry, SnapshotStore(), board)
    return registry


def test_rate_starts_and_pause_of_each_limit_are_shown(
    pool: MemoryPool, board: LimitBoard, registry: CollectorRegistry
) -> None:
    pool.limits.set(Limit("mail", rate=30, per_s=60))
    pool.limits.set(Limit("reports", concurrency=2))
    pool.limits.pause("reports")
    home = pool.partition(pool.producer.route("mail").partition)
    home.run(limit.ask(Ownership(0, "n", 1), "mail", tokens=1, held=0, wanted=0))

    LimitWatch(pool, board).look()

    def value(name: str, of: str) -> float | None:
        return registry.get_sample_value(name, {"limit": of})

    assert value("queuepool_limit_rate", "mail") == 0.5
    assert value("queuepool_limit_granted_total", "mail") == 1
    assert value("queuepool_limit_paused", "mail") == 0
    assert value("queuepool_limit_rate", "reports") is None
    assert value("queuepool_limit_paused", "reports") == 1


def test_no_more_than_a_hundred_are_shown(pool: MemoryPool, board: LimitBoard) -> None:
    for n in range(SHOWN + 40):
        pool.limits.set(Limit(f"account:{n}", rate=1))

    LimitWatch(pool, board).look()

    assert list(board.seen) == list(pool.limits.list())[:SHOWN]


def test_what_cannot_be_read_is_not_shown_and_is_told_once(
    pool: MemoryPool,
    board: LimitBoard,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool.limits.set(Limit("mail", rate=1))
    watch = LimitWatch(pool, board)
    watch.look()
    assert board.seen

    def away(*_: Any) -> Any:
        raise UnavailableError("away")

    with monkeypatch.context() as broken:
        broken.setattr(pool.server, "run_many", away)
        for _ in range(3):
            watch.look()
    assert board.seen == ()
    assert [record.message for record in caplog.records].count(
        "the limits cannot be read, so metrics do not show them: away"
    ) == 1
    watch.look()
    assert board.seen
