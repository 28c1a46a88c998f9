"""Settings that are not at their defaults are told, and no secret with them."""

from __future__ import annotations

import pytest

from coordinator.settings import CoordinatorSettings
from queuepool.settings.changed import HIDDEN, changed
from queuepool.settings.environment import QueuePoolSettings, load


def test_each_that_differs_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDINATOR_LEASE_S", "5")  # as by default
    given = load(CoordinatorSettings, {"cycle_s": 0.5, "metrics_partitions": 7, "grpc_port": 0})

    assert dict(changed(given)) == {
        "COORDINATOR_CYCLE_S": "0.5",
        "COORDINATOR_GRPC_PORT": "0",
        "COORDINATOR_METRICS_PARTITIONS": "7",
    }


@pytest.mark.parametrize(
    ("settings", "given", "told"),
    [
        (CoordinatorSettings, {"grpc_token": "s3cret" * 6}, "COORDINATOR_GRPC_TOKEN"),
        (CoordinatorSettings, {"grpc_viewer_token": "s3cret" * 6}, "COORDINATOR_GRPC_VIEWER_TOKEN"),
        (QueuePoolSettings, {"url": "redis://:s3cret@a:6379/0"}, "QUEUEPOOL_URL"),
        (QueuePoolSettings, {"servers": {"a": "redis://:s3cret@a:6379/0"}}, "QUEUEPOOL_SERVERS"),
    ],
)
def test_of_a_secret_only_that_it_is_set(
    settings: type, given: dict[str, object], told: str
) -> None:
    found = dict(changed(load(settings, given)))

    assert found == {told: HIDDEN}
    assert "s3cret" not in str(found)


def test_of_nothing_that_was_set_nothing_is_told() -> None:
    assert list(changed(load(QueuePoolSettings))) == []
