"""Searching for garbage takes no large part of a cycle over many partitions."""

import gc
from collections.abc import Iterator

import pytest

import coordinator.__main__ as process
from queuepool.settings.config import PoolConfig


@pytest.fixture
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_threshold")
def test_a_coordinator_searches_for_garbage_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def run(_settings: object, _config: PoolConfig) -> int:
        seen.append(gc.get_threshold()[0])
        return 0

    monkeypatch.setenv("QUEUEPOOL_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(process, "configure", lambda *_: None)

    assert process.main([]) == 0
    assert seen == [process._NEW_OBJECTS]
    assert process._NEW_OBJECTS > 700 * 10, "of Python itself: many times in each cycle"
