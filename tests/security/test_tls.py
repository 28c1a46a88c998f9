"""TLS to a real server: every kind of connection, and every way in which it must be refused."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis

from queuepool import AsyncQueuePool, QueuePool, cli
from queuepool.errors import ConfigurationError, UnavailableError
from queuepool.models import JobState
from queuepool.servers.connect import connect, connect_async
from queuepool.servers.tls import Tls
from queuepool.settings.environment import load_pool_config
from queuepool.verbs.operator import verbs as operate
from tests.integration.consumer.processes import ConsumerProcess
from tests.integration.coordinator.cluster import Process
from tests.security.certificates import HAVE_OPENSSL, KEY_PASSWORD, Authority
from tests.security.servers import REDIS, TlsServer
from tests.waiting import wait_until

KEY = b"{tls}"
pytestmark = [
    pytest.mark.skipif(REDIS is None, reason="redis-server is not installed here"),
    pytest.mark.skipif(not HAVE_OPENSSL, reason="openssl is not installed here"),
]


@dataclass(frozen=True)
class Trust:
    """Our authority with certificates from it, and one from an authority of someone else."""

    ours: Authority
    theirs: Authority
    server: tuple[Path, Path]
    elsewhere: tuple[Path, Path]
    client: tuple[Path, Path]
    stranger: tuple[Path, Path]


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    folder = tmp_path_factory.mktemp("tls")
    ours, theirs = Authority(folder / "ours"), Authority(folder / "theirs")
    return Trust(
        ours=ours,
        theirs=theirs,
        server=ours.issue("server"),
        elsewhere=ours.issue("elsewhere", "DNS:elsewhere.test"),
        client=ours.issue("client"),
        stranger=theirs.issue("stranger"),
    )


@pytest.fixture(scope="module")
def open_to_all(trust: Trust) -> Iterator[TlsServer]:
    with TlsServer(trust.ours.ca, trust.server, mutual=False) as server:
        yield server


@pytest.fixture(scope="module")
def mutual(trust: Trust) -> Iterator[TlsServer]:
    with TlsServer(trust.ours.ca, trust.server, mutual=True) as server:
        yield server


@pytest.fixture(scope="module")
def misnamed(trust: Trust) -> Iterator[TlsServer]:
    with TlsServer(trust.ours.ca, trust.elsewhere, mutual=False) as server:
        yield server


def ask(url: str, timeout_s: float = 30.0) -> None:
    """Observe a partition, sync and asyncio; raise what either raises."""
    verb = operate.observe(0)
    with closing(connect(url, timeout_s=timeout_s)) as server:
        verb.read(server.run(KEY, [verb])[0])

    async def again() -> None:
        server = connect_async(url, timeout_s=timeout_s)
        try:
            verb.read((await server.run(KEY, [verb]))[0])
        finally:
            await server.close()

    asyncio.run(again())


def failure(url: str, timeout_s: float = 30.0) -> list[str]:
    """Return what a sync and an asyncio connection fail with."""
    verb, texts = operate.observe(0), []
    with closing(connect(url, timeout_s=timeout_s)) as server, pytest.raises(UnavailableError) as e:
        verb.read(server.run(KEY, [verb])[0])
    texts.append(str(e.value))

    async def again() -> None:
        server = connect_async(url, timeout_s=timeout_s)
        with pytest.raises(UnavailableError) as e:
            await server.run(KEY, [verb])
        await server.close()
        texts.append(str(e.value))

    asyncio.run(again())
    return texts


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_known_authority_and_the_right_name_let_in(
    open_to_all: TlsServer, trust: Trust, host: str
) -> None:
    ask(Tls(ca=trust.ours.ca).added_to(open_to_all.over_tls(host)))


@pytest.mark.filterwarnings("error")
def test_connections_of_a_closed_loop_are_closed(open_to_all: TlsServer, trust: Trust) -> None:
    server = connect_async(Tls(ca=trust.ours.ca).added_to(open_to_all.over_tls()), timeout_s=30.0)

    async def ask_again() -> None:
        server.forget()
        assert len(await server.run(KEY, [operate.observe(0)])) == 1

    for _ in range(3):
        asyncio.run(ask_again())
    server.forget()
    gc.collect()


def test_another_authority_is_refused(open_to_all: TlsServer, trust: Trust) -> None:
    for tls in (Tls(ca=trust.theirs.ca), Tls()):
        for text in failure(tls.added_to(open_to_all.over_tls())):
            assert "set QUEUEPOOL_TLS_CA" in text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_certificate_for_another_name_is_refused(
    misnamed: TlsServer, trust: Trust, host: str
) -> None:
    url = Tls(ca=trust.ours.ca).added_to(misnamed.over_tls(host))

    for text in failure(url):
        assert "for another host name" in text
    ask(f"{url}&ssl_check_hostname=false")  # the name is all that was wrong with it


def test_a_plain_port_is_not_talked_to(open_to_all: TlsServer, trust: Trust) -> None:
    plain = open_to_all.url.replace("redis://", "rediss://")

    with_threads, with_asyncio = failure(Tls(ca=trust.ours.ca).added_to(plain), timeout_s=0.3)

    assert "check that this is its TLS port" in with_threads
    assert "TimeoutError" in with_asyncio  # asyncio does not tell what it waited for


def test_a_server_that_wants_our_certificate_gets_it_or_nothing(
    mutual: TlsServer, trust: Trust
) -> None:
    ask(Tls(trust.ours.ca, *trust.client).added_to(mutual.over_tls()))
    locked = trust.ours.locked(trust.client[1])
    ask(Tls(trust.ours.ca, trust.client[0], locked, KEY_PASSWORD).added_to(mutual.over_tls()))

    for tls in (Tls(trust.ours.ca), Tls(trust.ours.ca, *trust.stranger)):
        # It depends on who is quicker whether its reason arrives before the end.
        refused = partial(failure, tls.added_to(mutual.over_tls()))
        wait_until(partial(says, refused, "set QUEUEPOOL_TLS_CERT"))


def says(refused: Callable[[], list[str]], words: str) -> bool:
    """Return whether every failure has these words."""
    return all(words in text for text in refused())


@pytest.fixture
def settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mutual: TlsServer, trust: Trust, stage: str
) -> dict[str, str]:
    """The environment of a process that reaches the server by mutual TLS."""
    monkeypatch.chdir(tmp_path)
    values = {
        "QUEUEPOOL_URL": mutual.over_tls(),
        "QUEUEPOOL_STAGE": stage,
        "QUEUEPOOL_PARTITIONS": "2",
        "QUEUEPOOL_TLS_CA": str(trust.ours.ca),
        "QUEUEPOOL_TLS_CERT": str(trust.client[0]),
        "QUEUEPOOL_TLS_KEY": str(trust.ours.locked(trust.client[1])),
        "QUEUEPOOL_TLS_KEY_PASSWORD": KEY_PASSWORD,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return values


def test_a_cluster_works_by_mutual_tls_alone(
    settings: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, stage = settings["QUEUEPOOL_URL"], settings["QUEUEPOOL_STAGE"]
    consumers = [
        ConsumerProcess(
            url, stage, tmp_path, environment=settings, partition=n, partitions=2, lease_s=60
        )
        for n in range(2)
    ]
    coordinator = Process(url, stage, environment=settings)
    try:
        with QueuePool.from_env() as pool:
            keys = [f"k{n}" for n in range(8)]
            jobs = [(k, pool.enqueue("work", {}, partition_key=k)) for k in keys]

            def states() -> set[JobState]:
                return {pool.status(j.job_id, partition_key=k).state for k, j in jobs}

            wait_until(lambda: states() == {JobState.DONE}, 60.0, "all done over TLS")

        async def enqueue() -> str:
            async with AsyncQueuePool.from_env() as pool:
                return str((await pool.enqueue("work", {}, partition_key="k")).status)

        assert asyncio.run(enqueue()) == "accepted"
        for words in (("check",), ("status",), ("status", "--grpc", coordinator.grpc)):
            assert cli.main(words) == 0, capsys.readouterr().out
    finally:
        for consumer in consumers:
            consumer.kill()
        coordinator.kill()
    said = "".join([*(c.log for c in consumers), *coordinator.log, *capsys.readouterr()])
    assert KEY_PASSWORD not in said


def test_an_idle_owner_hears_of_work_over_tls(settings: dict[str, str]) -> None:
    with QueuePool.from_env() as pool:
        partition = pool.partition(0)
        bell = partition.server.doorbell(partition.key)
        verb = operate.observe(0)
        verb.read(partition.server.run(partition.key, [verb])[0])
        client = redis.Redis.from_url(load_pool_config().topology.servers["main"])
        try:
            for _ in range(3):  # a token, and one with an armed verb behind it
                bell.wait(0.0)
                client.rpush(partition.key + b":wk", "w")
                assert bell.wait(30.0) == b"w"
                bell.wait(0.0)
                assert bell.arm(verb)
                client.rpush(partition.key + b":wk", "c")
                assert bell.wait(30.0) == b"c"
                assert verb.read(bell.answer()).backlog == 0
        finally:
            client.close()
            bell.close()


def test_a_redis_cluster_works_over_tls(trust: Trust, tmp_path: Path) -> None:
    more = (
        "--cluster-enabled", "yes", "--cluster-config-file", str(tmp_path / "nodes.conf"),
        "--tls-cluster", "yes",
    )  # fmt: skip
    with TlsServer(trust.ours.ca, trust.server, mutual=True, more=more) as server:
        with redis.Redis.from_url(server.url) as admin:
            admin.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            wait_until(lambda: "cluster_state:ok" in str(admin.execute_command("CLUSTER", "INFO")))
        url = server.over_tls(scheme="rediss+cluster")

        ask(Tls(trust.ours.ca, *trust.client).added_to(url))
        for text in failure(Tls(trust.theirs.ca, *trust.client).added_to(url)):
            assert "set QUEUEPOOL_TLS_CA" in text


def test_check_names_the_remedy(
    settings: dict[str, str],
    trust: Trust,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("QUEUEPOOL_TLS_CA", str(trust.theirs.ca))

    assert cli.main(["check"]) == 3
    assert "Its certificate is not signed by a CA that is trusted here: set QUEUEPOOL_TLS_CA" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"CA": "none.pem"}, "QUEUEPOOL_TLS_CA=none.pem: there is no such file"),
        ({"CA": __file__}, "QUEUEPOOL_TLS_CA"),
        ({"KEY_PASSWORD": "wrong"}, "QUEUEPOOL_TLS_KEY_PASSWORD is correct"),
        ({"KEY_PASSWORD": None}, "QUEUEPOOL_TLS_KEY_PASSWORD is correct"),
        ({"CERT": None}, "QUEUEPOOL_TLS_KEY needs QUEUEPOOL_TLS_CERT"),
        ({"URL": "redis://h/0"}, "must start with rediss://"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused_before_the_first_call(
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    problem: str,
) -> None:
    for name, value in changes.items():
        variable = "QUEUEPOOL_URL" if name == "URL" else f"QUEUEPOOL_TLS_{name}"
        if value is None:
            monkeypatch.delenv(variable)
        else:
            monkeypatch.setenv(variable, value)

    with pytest.raises(ConfigurationError) as refused:
        load_pool_config()

    assert problem in str(refused.value)
    assert "wrong" not in str(refused.value)


def test_a_url_keeps_what_it_says_itself_and_a_plain_one_gets_nothing() -> None:
    tls = Tls(Path("/a b/ca.pem"), Path("cert.pem"), Path("key.pem"), "p&w")

    added = tls.added_to("rediss+cluster://u:s@h:1/0?timeout=3")
    assert added == (
        f"rediss+cluster://u:s@h:1/0?timeout=3&ssl_ca_certs={quote('/a b/ca.pem', safe='')}"
        "&ssl_certfile=cert.pem&ssl_keyfile=key.pem&ssl_password=p%26w"
    ).replace("%20", "+")
    own = "rediss://h?ssl_ca_certs=x&ssl_certfile=y&ssl_keyfile=z"
    assert tls.added_to(own) == own
    assert tls.added_to("redis://h") == "redis://h"
    assert "p&w" not in repr(tls)
