"""Settings: every problem at once, with its variable and without its value; the local cluster."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from queuepool import ConfigurationError, QueuePool
from queuepool.settings import local_cluster as local
from queuepool.settings.environment import QueuePoolSettings, load, load_pool_config

CANARY = "hunter2-CANARY"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of this machine counts, and the directory holds no cluster."""
    for name in [name for name in os.environ if name.startswith("QUEUEPOOL_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def set_all(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"QUEUEPOOL_{name.upper()}", value)


def problems() -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_pool_config()
    text = "".join(traceback.format_exception(caught.value))
    assert CANARY not in text, text
    return str(caught.value).splitlines()


def test_every_problem_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(
        monkeypatch,
        url=f"http://u:{CANARY}@h",
        servers="{",
        partitions="many",
        stage="a b",
        queue="a/b",
        max_depth="0",
        max_bytes="-1",
        max_payload_bytes="x",
        timeout_s="0",
        retry_for_s="60",
    )

    told = problems()

    for name in ("URL", "SERVERS", "PARTITIONS", "STAGE", "QUEUE", "MAX_DEPTH", "MAX_BYTES",
                 "MAX_PAYLOAD_BYTES", "TIMEOUT_S", "RETRY_FOR_S"):  # fmt: skip
        assert any(line.startswith(f"QUEUEPOOL_{name}: ") for line in told), (name, told)
    assert len(told) == 10


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "no server is configured"),
        ({"url": ""}, "no server is configured"),
        ({"servers": "{}"}, "no server is configured"),
        ({"url": "redis://h", "servers": '{"a": "redis://h"}'}, "not both"),
        ({"url": f"redis://u:{CANARY}@h:port"}, "QUEUEPOOL_URL: redis://...: the port"),
        ({"servers": f'{{"a": "redis://u:{CANARY}@h:port"}}'}, "QUEUEPOOL_SERVERS: redis://...:"),
        ({"servers": f'{{"a": "redis://u:{CANARY}@h"'}, "QUEUEPOOL_SERVERS: this is not JSON"),
        ({"servers": f'["redis://u:{CANARY}@h"]'}, "QUEUEPOOL_SERVERS"),
        ({"servers": '{"a": 7}'}, "QUEUEPOOL_SERVERS_A"),
        ({"servers": f'{{"a": "redis://u:{CANARY}@h", "b": "redis://k"}}'}, "names 2 servers"),
        ({"url": "redis://h", "placement": "0-2=main"}, "omits partition 3"),
        ({"url": "redis://h", "placement": "0-3=other"}, "names server 'other'"),
        ({"url": "redis://h", "partitions": "4097"}, "QUEUEPOOL_PARTITIONS"),
        ({"url": "redis://h", "timeout_s": "nan"}, "QUEUEPOOL_TIMEOUT_S"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_says_why(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], told: str
) -> None:
    set_all(monkeypatch, **values)

    (line,) = problems()
    assert told in line


def test_a_pool_is_made_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = {"main": f"redis://u:{CANARY}@a", "big": "redis://b/3"}
    set_all(
        monkeypatch,
        servers=json.dumps(servers),
        placement="0-1=main,2=big",
        partitions="3",
        stage="prod",
        max_depth="9",
        retry_for_s="0.5",
    )

    with QueuePool.from_env() as pool:
        config = pool.config
    assert config.topology.servers == servers
    assert config.topology.placement == ("main", "main", "big")
    assert config.keyspace.stage == "prod"
    assert (config.max_depth, config.retry_for_s) == (9, 0.5)
    assert CANARY not in repr(load(QueuePoolSettings))


# -- the cluster of `queuepool up` in this directory ----------------------------------------------


def cluster(pid: int) -> local.LocalCluster:
    return local.LocalCluster(
        pid=pid,
        servers={"main": f"redis://u:{CANARY}@h"},
        placement="",
        partitions=2,
        stage="here",
        queue="main",
        grpc_address=None,
    )


def test_the_cluster_in_this_directory_is_found() -> None:
    local.write(cluster(os.getpid()))

    assert local.read() == cluster(os.getpid())
    assert load_pool_config().keyspace.stage == "here"
    assert CANARY not in repr(local.read())


def test_a_url_goes_before_the_cluster_in_this_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    local.write(cluster(os.getpid()))
    set_all(monkeypatch, url="redis://h")

    assert load_pool_config().keyspace.stage == "dev"


def test_only_its_owner_reads_the_state_file() -> None:
    local.write(cluster(os.getpid()))

    path = local.STATE_DIR / "cluster.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in local.STATE_DIR.iterdir() if p.suffix == ".json"] == ["cluster.json"]


def test_a_cluster_whose_process_is_gone_is_none() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=60)
    local.write(cluster(ended.pid))

    assert local.read() is None


def test_without_a_state_file_there_is_no_cluster() -> None:
    assert local.read() is None
    local.remove()
    local.write(cluster(os.getpid()))
    local.remove()
    assert local.read() is None


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"7", b'"text"', b"\xff\xfe", b"{}", b'{"pid": 1}',
        b'{"pid":"x","servers":{},"placement":"","partitions":1,"stage":"a","queue":"b",'
        b'"grpc_address":null}',
        b'{"pid":-1,"servers":{},"placement":"","partitions":1,"stage":"a","queue":"b",'
        b'"grpc_address":null}',
        b'{"pid":1e99,"servers":{},"placement":"","partitions":1,"stage":"a","queue":"b",'
        b'"grpc_address":null}',
        b'{"pid":99999999999999999999999,"servers":{},"placement":"","partitions":1,"stage":"a",'
        b'"queue":"b","grpc_address":null}',
        b'{"pid":1,"new":1,"servers":{},"placement":"","partitions":1,"stage":"a","queue":"b",'
        b'"grpc_address":null}',
    ],
)  # fmt: skip
def test_a_damaged_state_file_names_itself_and_the_remedy(content: bytes) -> None:
    local.STATE_DIR.mkdir()
    (local.STATE_DIR / "cluster.json").write_bytes(content)

    with pytest.raises(ConfigurationError, match=r"cluster\.json.*remove it"):
        local.read()


def test_a_directory_in_place_of_the_state_file_names_itself() -> None:
    (local.STATE_DIR / "cluster.json").mkdir(parents=True)

    with pytest.raises(ConfigurationError, match=r"cluster\.json"):
        local.read()
