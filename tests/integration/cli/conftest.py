from collections.abc import Iterator
from pathlib import Path

import pytest

from queuepool import QueuePool
from tests.shell import Shell


@pytest.fixture
def shell(
    redis_url: str,
    stage: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    monkeypatch.setenv("QUEUEPOOL_URL", redis_url)
    monkeypatch.setenv("QUEUEPOOL_STAGE", stage)
    monkeypatch.setattr("queuepool.cli.commands.status._RATE_OVER_S", 0.0)
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.fixture
def pool(shell: Shell) -> Iterator[QueuePool]:
    with QueuePool.from_env() as made:
        yield made
