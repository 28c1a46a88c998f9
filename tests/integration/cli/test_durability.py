"""queuepool bulk --durability, on a server without replicas and without a file."""

from pathlib import Path

import pytest
import redis

from queuepool import QueuePool, cli
from queuepool.cli.exits import Exit
from queuepool.process.embedded import EmbeddedServer

FILE = "rows.jsonl"


@pytest.fixture
def pool(redis_url: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QueuePool:
    monkeypatch.chdir(tmp_path)
    for name, value in (("URL", redis_url), ("STAGE", stage)):
        monkeypatch.setenv(f"QUEUEPOOL_{name}", value)
    Path(FILE).write_text('{"a": 1}\n{"a": 2}\n{"a": 3}\n')
    return QueuePool.from_env()


@pytest.fixture
def durability(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is asked for; where there is no replica, none is waited for long."""
    if request.param == "replicated":
        monkeypatch.setenv("QUEUEPOOL_TIMEOUT_S", "0.3")
    return str(request.param)


def bulk(durability: str) -> int:
    return cli.main(["bulk", FILE, "--task", "t", "--key", "k", "--durability", durability])


@pytest.mark.parametrize(
    ("durability", "code", "said"),
    [
        ("fast", Exit.OK, "3 jobs enqueued"),
        ("replicated", Exit.UNAVAILABLE, "0 of 1 replicas have it"),
        ("fsynced", Exit.FAILED, "Set `appendonly yes`"),
    ],
    indirect=["durability"],
)
def test_the_rows_are_stored_and_what_is_not_confirmed_is_told(
    pool: QueuePool, capsys: pytest.CaptureFixture[str], durability: str, code: Exit, said: str
) -> None:
    with pool:
        assert bulk(durability) == code

        told = capsys.readouterr().err
        assert said in told
        assert ("possibly the next 3" in told) == (code is not Exit.OK)
        assert pool.group("k").status().ready == 3


@pytest.mark.parametrize(
    ("durability", "code", "said"),
    [
        ("fast", Exit.OK, ""),
        ("replicated", Exit.FAILED, "0 of 1 replicas have it"),
        ("fsynced", Exit.FAILED, "Set `appendonly yes`"),
    ],
    indirect=["durability"],
)
def test_the_check_tries_whether_the_server_confirms(
    pool: QueuePool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    durability: str,
    code: Exit,
    said: str,
) -> None:
    monkeypatch.setenv("QUEUEPOOL_DURABILITY", durability)
    pool.close()

    assert cli.main(["check"]) == code

    told = capsys.readouterr().out
    assert said in told
    assert ("QUEUEPOOL_DURABILITY" in told) == bool(said)


def test_the_check_tells_of_a_server_that_confirms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedServer(tmp_path / "data") as server:
        with redis.Redis.from_url(server.url) as admin:
            admin.config_set("appendfsync", "always")
        monkeypatch.setenv("QUEUEPOOL_URL", server.url)
        monkeypatch.setenv("QUEUEPOOL_DURABILITY", "fsynced")

        assert cli.main(["check"]) == Exit.OK

    assert "confirms writes as required by QUEUEPOOL_DURABILITY=fsynced" in capsys.readouterr().out
