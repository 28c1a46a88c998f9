"""No error, none of its causes and no repr holds a secret."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coordinator.settings import CoordinatorSettings
from coordinator.settings import load as load_coordinator
from queuepool import AsyncQueuePool, PoolConfig, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.rpc.client import connect
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.settings.environment import QueuePoolSettings, load_pool_config
from tests.security.canary import Canary, Leak, leaks


class Secretive:
    """A value that JSON cannot hold, with a secret for its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def text_of(error: BaseException) -> str:
    """Return what an error and its causes say of themselves in any traceback."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    told = f"{error!r} {error} {getattr(error, '__notes__', '')}"
    return told if cause is None else f"{told} {text_of(cause)}"


def refused(call: Callable[[], object]) -> str:
    """Return what the error of a call tells; it must fail."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whichever: all have to keep secrets
        call()
    return text_of(caught.value)


@pytest.fixture
def canary() -> Canary:
    return Canary()


def test_payloads_stay_out_of_errors_and_of_what_enqueue_returns(
    redis_url: str, stage: str, canary: Canary
) -> None:
    secret = canary["payload"]
    bad: dict[str, Any] = {
        "an object": {"a": [Secretive(secret)]},
        "not a number": {"a": [secret, math.nan]},
        "too large": {"a": secret * 100_000},
        "no object": secret,
        "a surrogate": {"a": f"{secret}\ud800"},
        "a key": {Secretive(secret): 1},
    }
    config = PoolConfig(topology=single(redis_url, 1), keyspace=Keyspace(stage))
    with QueuePool(config=config) as pool:
        shown = {
            name: refused(partial(pool.enqueue, "t", payload, partition_key="k"))
            for name, payload in bad.items()
        }
        shown |= {
            f"{name} among many": refused(
                partial(pool.enqueue_many, "t", [{"a": secret}, payload], partition_key="k")
            )
            for name, payload in bad.items()
        }
        job = pool.enqueue("t", {"a": secret}, partition_key="k")
        shown["what enqueue returns"] = f"{job!r} {job} {pool!r}"

    assert leaks(canary, shown, {}) == []


def enqueue(url: str) -> None:
    with QueuePool(url) as pool:
        pool.enqueue("t", {}, partition_key="k")


def enqueue_async(url: str) -> None:
    async def run() -> None:
        async with AsyncQueuePool(url) as pool:
            await pool.enqueue("t", {}, partition_key="k")

    asyncio.run(run())


@pytest.mark.parametrize("call", [enqueue, enqueue_async])
def test_passwords_stay_out_of_errors_of_urls(call: Callable[[str], None], canary: Canary) -> None:
    good = f"redis://:{canary['url_password']}@127.0.0.1:1/0"
    urls = {
        "a database that is not a number": f"{good}x",
        "a port that is not a number": good.replace("127.0.0.1:1", "h:port"),
        "an unknown option": f"{good}?nonsense=1",
        "another scheme": good.replace("redis", "http"),
        "a password that is not quoted": f"redis://:{canary['url_password']}/#@127.0.0.1:1/0",
    }

    shown = {name: refused(partial(call, url)) for name, url in urls.items()}

    assert leaks(canary, shown, {}) == []


def test_settings_keep_secrets_whether_they_work_or_not(
    canary: Canary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUEUEPOOL_URL", f"redis://:{canary['url_password']}@h/0")
    monkeypatch.setenv("QUEUEPOOL_TLS_KEY_PASSWORD", canary["key_password"])
    settings = QueuePoolSettings()
    config = load_pool_config()
    shown = {"good ones": f"{settings!r} {settings} {settings.tls!r} {config!r} {config}"}

    for name, value in (
        ("PARTITIONS", "0"),
        ("TLS_CERT", __file__),
        ("URL", f"http://:{canary['url_password']}@h"),
        ("SERVERS", f'{{"main": "redis://:{canary["url_password"]}@h'),
    ):
        monkeypatch.setenv(f"QUEUEPOOL_{name}", value)
        shown[f"with a bad {name}"] = refused(load_pool_config)
        shown[f"made with a bad {name}"] = refused(QueuePoolSettings)

    assert leaks(canary, shown, {}) == []


def test_settings_of_a_coordinator_keep_tokens(canary: Canary) -> None:
    tokens = {"grpc_token": canary["token"], "grpc_viewer_token": canary["viewer_token"]}
    good = load_coordinator(tokens)
    shown = {"good ones": f"{good!r} {good} {good.access()!r}"}

    bad: dict[str, dict[str, object]] = {
        "a bad number": {"cycle_s": -1},
        "a bad combination": {"lease_s": 0.1},
        "a bad token": {"grpc_token": f"{canary['token']} x"},
        "a token twice": {"grpc_viewer_token": canary["token"]},
    }
    for name, more in bad.items():
        for token, value in tokens.items():
            values: dict[str, Any] = {"grpc_token": canary["token"], token: value, **more}
            shown[f"{name} and {token}"] = refused(partial(load_coordinator, values))
            shown[f"made with {name} and {token}"] = refused(
                partial(CoordinatorSettings, **dict(reversed(values.items())))
            )

    assert leaks(canary, shown, {}) == []


def test_clients_keep_tokens(canary: Canary) -> None:
    shown = {"a token": refused(lambda: connect("127.0.0.1:1", f"{canary['token']} x"))}
    with connect("127.0.0.1:1", canary["token"]) as client:
        shown["a call"] = refused(lambda: client.GetCluster(api.GetClusterRequest()))
        shown["a client"] = repr(client)

    assert leaks(canary, shown, {}) == []


def test_an_error_or_its_cause_that_leaks_is_found(canary: Canary) -> None:
    def leak() -> None:
        try:
            int(canary["payload"])
        except ValueError as error:
            raise RuntimeError("no secret here") from error

    shown = {"a place": refused(leak)}

    assert leaks(canary, shown, {}) == [Leak("a place", "payload")]
    assert leaks(canary, shown, {"a .*": ["payload"]}) == []
    assert leaks(canary, shown, {"a": ["payload"]}) == [Leak("a place", "payload")]
