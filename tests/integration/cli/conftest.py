from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from queuepool import QueuePool
from tests.integration.cli.importing import RECORDED_S, Elsewhere
from tests.shell import Shell


@pytest.fixture
def pool(shell: Shell) -> Iterator[QueuePool]:
    with QueuePool.from_env() as made:
        yield made


@pytest.fixture
def elsewhere(redis_url: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Elsewhere]:
    assert shell is not None
    monkeypatch.setattr(
        "queuepool.cli.commands.import_jobs.time", SimpleNamespace(time=lambda: RECORDED_S)
    )
    there = Elsewhere(redis_url)
    monkeypatch.setenv("QUEUEPOOL_IMPORT_URL", there.url)
    there.redis.flushdb()
    yield there
    there.redis.flushdb()
    there.redis.close()
