"""Names of keys, placement of partitions, and what refuses bad ones when it is made."""

from __future__ import annotations

import re
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from queuepool import AsyncQueuePool, ConfigurationError, InvalidInputError, PoolConfig, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build, single

BAD_NAMES = ["", "a{b", "a}b", "a b", "a/b", "..", ".", "a" * 65, "ä", "a\n", "\x00", "a:b", "*"]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("field", ["stage", "queue"])
def test_a_name_that_redis_could_misread_is_refused(field: str, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"QUEUEPOOL_{field.upper()}"):
        Keyspace(**{field: name})


@pytest.mark.parametrize("name", ["a", "A-Z_0.9", "...", "a" * 64])
def test_other_names_are_taken(name: str) -> None:
    keys = Keyspace(name, name)

    assert keys.partition(3) == f"/{name}/queue/{{partition_3}}/{name}".encode()
    assert keys.system() == f"/{name}/sys/{{sys}}/{name}".encode()


@given(st.integers(0, 4095), st.binary(min_size=1, max_size=64))
def test_all_keys_of_a_partition_share_a_slot_whatever_the_group(number: int, group: bytes) -> None:
    base = Keyspace().partition(number)
    tagged = b"partition_%d" % number

    for suffix in (b":j", b":q:2:" + group, b":g:" + group):
        assert redis.crc.key_slot(base + suffix) == redis.crc.key_slot(tagged)


def test_the_pools_of_a_partition_share_its_slot_and_no_key() -> None:
    space = Keyspace("prod", "bulk")
    video = space.of("video")

    assert video.partition(3) == b"/prod/queue/{partition_3}~{video}/bulk"
    assert video.system() == b"/prod/sys/{sys}~{video}/bulk"
    assert redis.crc.key_slot(video.partition(3)) == redis.crc.key_slot(space.partition(3))
    assert video.of("default") == space
    with pytest.raises(InvalidInputError, match="use a name of 1 to 32"):
        space.of("}{")


def test_partitions_spread_over_the_slots_of_a_cluster() -> None:
    slots = {redis.crc.key_slot(Keyspace().partition(n)) for n in range(64)}

    assert len(slots) == 64


# -- topology --------------------------------------------------------------------------------------

TWO = {"main": "redis://a", "big": "redis://b"}


def test_one_server_holds_everything() -> None:
    topology = single("redis://a", 5)

    assert topology.partitions == 5
    assert {topology.server_of(n) for n in range(5)} == {topology.system} == {"main"}


@pytest.mark.parametrize(
    "text", ["0-2=main,3=big", " 3 = big , 0-2=main ", "0-1=main,2=main,3=big"]
)
def test_a_placement_says_where_each_partition_is(text: str) -> None:
    topology = build(TWO, 4, text)

    assert topology.placement == ("main", "main", "main", "big")
    assert topology.system == "main"


@pytest.mark.parametrize(
    ("servers", "partitions", "placement", "told"),
    [
        (TWO, 4, "", "names 2 servers (main, big)"),
        ({}, 4, "", "names 0 servers"),
        (TWO, 4, "0-2=main", "omits partition 3"),
        (TWO, 4, "0-3=other", "'other'"),
        (TWO, 4, "0-2=main,2-3=big", "places partition 2 twice"),
        (TWO, 4, "3-0=main", "write 0-3"),
        (TWO, 4, "0-3", "not FIRST-LAST=SERVER"),
        (TWO, 4, "a-b=main", "not FIRST-LAST=SERVER"),
        (TWO, 4, "0-3=main,", "not FIRST-LAST=SERVER"),
        (TWO, 4, "0 - 3=main", "not FIRST-LAST=SERVER"),
        (TWO, 4, "-1=main", "not FIRST-LAST=SERVER"),
        (TWO, 4, "9" * 30 + "=main", "omits partition 0"),
        (TWO, 0, "", "1 to 4096"),
        (TWO, 4097, "", "1 to 4096"),
        (TWO, "4", "", "1 to 4096"),
        (TWO, True, "", "1 to 4096"),
        (TWO, 2.0, "", "1 to 4096"),
    ],
)
def test_a_placement_that_does_not_fit_says_why(
    servers: dict[str, str], partitions: Any, placement: str, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        build(servers, partitions, placement)


@pytest.mark.parametrize("number", [-1, 4, 10**9])
def test_there_is_no_server_of_a_partition_that_does_not_exist(number: int) -> None:
    with pytest.raises(ConfigurationError, match="0 to 3"):
        single("redis://a", 4).server_of(number)


# -- limits of a pool ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        {"max_depth": 0}, {"max_bytes": 0}, {"max_payload_bytes": 0},
        {"timeout_s": 0}, {"timeout_s": 61}, {"timeout_s": float("nan")},
        {"retry_for_s": -1}, {"retry_for_s": 60}, {"retry_for_s": float("nan")},
    ],
)  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        PoolConfig(topology=single("redis://a", 1), **limits)  # type: ignore[arg-type]


def test_all_limits_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        PoolConfig(topology=single("redis://a", 1), max_depth=0, timeout_s=0, retry_for_s=99)

    for name in ("MAX_DEPTH", "TIMEOUT_S", "RETRY_FOR_S"):
        assert name in str(caught.value)


@pytest.mark.parametrize("kind", [QueuePool, AsyncQueuePool])
def test_a_pool_needs_to_know_its_server(kind: type[QueuePool | AsyncQueuePool]) -> None:
    with pytest.raises(InvalidInputError, match="from_env"):
        kind()
