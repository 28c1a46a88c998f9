"""URLs of servers: what they mean, and that their passwords go nowhere."""

from __future__ import annotations

import traceback

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from queuepool import AsyncQueuePool, ConfigurationError, PoolConfig, QueuePool, UnavailableError
from queuepool.routing.topology import single
from queuepool.servers import wire
from queuepool.servers.cluster import node_map as slots
from queuepool.servers.connect import connect
from queuepool.servers.sync import Server

CANARY = "hunter2-CANARY"


@pytest.mark.parametrize(
    ("url", "name", "cluster"),
    [
        ("redis://h", "h:6379", False),
        ("REDIS://h", "h:6379", False),
        ("Rediss+Cluster://h", "h:6379", True),
        ("Redis+Sentinel://s1/main", "main of sentinel s1:26379", False),
        ("redis://h:1234/3", "h:1234", False),
        ("valkey://user:pw@h", "h:6379", False),
        ("rediss://h:1/0?ssl_cert_reqs=none", "h:1", False),
        ("valkeys://h", "h:6379", False),
        ("redis+cluster://u:p@h:7000", "h:7000", True),
        ("rediss+cluster://h", "h:6379", True),
        ("redis+sentinel://s1,s2:7/main", "main of sentinel s1:26379", False),
        ("valkeys+sentinel://u:p@[::1]:7/a.b-c/3", "a.b-c of sentinel ::1:7", False),
        ("unix:///run/redis.sock", "unix:/run/redis.sock", False),
    ],
)
def test_a_url_names_a_server(url: str, name: str, cluster: bool) -> None:
    plain, is_cluster = wire.check_url(url)

    assert is_cluster is cluster
    assert wire.display_name(plain) == name
    assert plain.split("://")[0].removesuffix("+sentinel") in ("redis", "rediss", "unix")


def test_tls_and_its_options_reach_the_client() -> None:
    server = Server("rediss://h:1/0?ssl_ca_certs=/ca.pem&ssl_check_hostname=false")

    assert server._pool.connection_class is redis.SSLConnection
    assert server._pool.connection_kwargs["ssl_ca_certs"] == "/ca.pem"
    assert server._pool.connection_kwargs["ssl_check_hostname"] is False


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://h",
        "redis:/h",
        "redis://h:port",
        "redis://h:99999",
        "redis://h/mydb",
        "redis://h?nonsense=1",
        "redis://h?socket_timeout=soon",
        "rediss://h?ssl_cert_reqs=perhaps",
        "unix+cluster:///s",
        "unix+sentinel://s/main",
        "http+sentinel://s/main",
        "redis+sentinel://s",
        "redis+sentinel:///main",
        "redis+sentinel://s:port/main",
        "redis+sentinel://s,/main",
        "redis+sentinel://s:0/main",
        "redis+sentinel://s/main/db",
        "redis+sentinel://s/main/0/1",
        "redis+sentinel://s/ma in",
        "redis+sentinel://s/main?nonsense=1",
        "redis+sentinel://" + ",".join(["s"] * 17) + "/main",
    ],
)
@pytest.mark.parametrize("kind", [QueuePool, AsyncQueuePool])
def test_a_bad_url_is_refused_at_construction(
    url: str, kind: type[QueuePool | AsyncQueuePool]
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        kind(url)
    assert str(refused.value).count("QUEUEPOOL_URL") <= 1


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://h", "or redis+sentinel://, not with http:// (settings"),
        ("redis://h:6379/0 ", "it ends with a blank"),
        ("redis://h ", "it ends with a blank"),
    ],
)
def test_the_error_of_a_bad_url_names_the_cause(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        QueuePool(url)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"http://u:{CANARY}@h",
        f"redis://u:{CANARY}/more@h:6379/0",
        f"redis://u:{CANARY}#more@h:6379/0",
        f"redis://u:{CANARY}?more@h:6379/0",
        f"redis://u:{CANARY}@h:port",
        f"redis://u:{CANARY}@h/db",
        f"redis://u:{CANARY}@h?nonsense=1",
        f"redis://h?password={CANARY}&nonsense=1",
        f"redis://h:{CANARY}",
        f"redis+sentinel://u:{CANARY}@s:port/main",
        f"redis+sentinel://u:{CANARY}/more@s/main",
        f"redis+sentinel://s/main?sentinel_password={CANARY}&nonsense=1",
        f"rediss://u:{CANARY}@h?ssl_cert_reqs=perhaps",
    ],
)
def test_the_error_of_a_bad_url_keeps_the_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        QueuePool(url)

    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
def test_no_name_repr_or_error_of_a_server_holds_its_password(scheme: str) -> None:
    url = f"{scheme}://user:{CANARY}@127.0.0.1:1/0"
    config = PoolConfig(topology=single(url, 2), retry_for_s=0.0, timeout_s=0.5)
    with QueuePool(config=config) as pool:
        with pytest.raises(UnavailableError) as caught:
            pool.enqueue("t", {}, partition_key="g")

        seen = [
            "".join(traceback.format_exception(caught.value)),
            *(server.name for server in pool.servers.values()),
            *map(repr, (config, pool, pool.producer, pool.partition(0), pool.group("g"))),
            *map(str, (config, config.topology, list(pool.servers.values()))),
        ]
    assert not [text for text in seen if CANARY in text]


def test_a_server_is_connected_to_at_the_first_call_only() -> None:
    for url in ("redis://127.0.0.1:1", "redis+cluster://127.0.0.1:1"):
        connect(url, timeout_s=1.0).close()


# -- slots of a cluster ------------------------------------------------------------------------


REPLY = [
    [8192, 16383, [b"10.0.0.2", 7001, b"id2"]],
    [0, 8191, [b"10.0.0.1", 7000, b"id1", []], [b"10.0.0.9", 7009, b"replica"]],
]


@given(st.binary(max_size=50))
def test_the_map_finds_the_node_of_every_key(key: bytes) -> None:
    found = slots.read_slots(REPLY, "h:1").address_of(key)

    first_half = redis.crc.key_slot(key) < 8192
    assert found == ("10.0.0.1:7000" if first_half else "10.0.0.2:7001")


def test_a_slot_that_nobody_has_is_found_nowhere() -> None:
    key = b"{partition_0}"
    slot = redis.crc.key_slot(key)
    around = [[0, slot - 1, [b"a", 1, b"x"]], [slot + 1, 16383, [b"b", 2, b"y"]]]

    assert slots.read_slots(around, "h:1").address_of(key) is None
    assert slots.read_slots([], "h:1").address_of(key) is None


@pytest.mark.parametrize("empty", [b"", None])
def test_a_node_without_a_name_is_the_one_that_was_asked(empty: bytes | None) -> None:
    reply = [[0, 16383, [empty, 7000, b"id"]]]

    assert slots.read_slots(reply, "asked:7777").address_of(b"k") == "asked:7000"


def test_ipv6_addresses_keep_their_brackets() -> None:
    reply = [[0, 16383, [b"::1", 7000, b"id"]]]
    found = slots.read_slots(reply, "h:1").address_of(b"k")

    assert found == "[::1]:7000"
    assert slots.split_address(found) == ("::1", 7000)
    assert slots.node_url("redis://u:p@h:1/0", found) == "redis://u:p@[::1]:7000"


def test_the_url_of_a_node_keeps_credentials_and_options() -> None:
    url = "rediss://u:p%40ss@seed:7000/0?ssl_ca_certs=/ca.pem"

    assert slots.address_in(url) == "seed:7000"
    assert slots.node_url(url, "n:7001") == "rediss://u:p%40ss@n:7001?ssl_ca_certs=/ca.pem"
