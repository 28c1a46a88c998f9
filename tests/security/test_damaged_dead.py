"""One damaged dead job never hides the others, and is shown, replayed and discarded by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from queuepool import AsyncQueuePool, QueuePool
from queuepool.errors import InvalidInputError, escaping
from queuepool.models import JobState
from queuepool.testing import MemoryServer
from tests.security.planted import NASTY, NOT_UTF8, body_of, controls, plant_dead
from tests.shell import Shell

GOOD = b"good-one"


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "2")
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture
def pool(shell: Shell) -> Iterator[QueuePool]:
    with QueuePool.from_env() as made:
        yield made


DAMAGE: dict[str, dict[str, Any]] = {
    "id": {"job_id": NOT_UTF8},
    "empty id": {"job_id": b""},
    "id of controls": {"job_id": NASTY.encode()},
    "group": {"job_id": b"bad", "body": body_of(b"\xff\x1b[2J\n")},
    "task": {"job_id": b"bad", "body": body_of(task=NASTY)},
    "body": {"job_id": b"bad", "body": b"\xff\xfe\x00"},
    "body lost": {"job_id": b"bad", "body": b""},
    "envelope": {"job_id": b"bad", "body": body_of()[:-1] + b"\xff"},
    "error": {"job_id": b"bad", "error": b"\xff\xfe{"},
    "error of controls": {
        "job_id": b"bad",
        "error": json.dumps({"reason": NASTY, "type": NASTY, "message": NASTY}).encode(),
    },
    "attempts": {"job_id": b"bad", "attempts": b"notanumber"},
    "crashes": {"job_id": b"bad", "crashes": b"\xff"},
    "attempts without end": {"job_id": b"bad", "attempts": b"1e400", "crashes": b"-1e999"},
    "death in no year": {"job_id": b"bad", "died": "1e300"},
    "death never": {"job_id": b"bad", "died": "inf"},
    "death before all": {"job_id": b"bad", "died": "-inf"},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_dead_job_blocks_no_command_and_is_handled_by_itself(
    shell: Shell, pool: QueuePool, damage: str
) -> None:
    record = DAMAGE[damage]
    for job_id, more in ((GOOD, {}), (record["job_id"], record), (b"last", {})):
        plant_dead(pool, job_id, **{k: v for k, v in more.items() if k != "job_id"})

    listed = shell.json("dead", "list")

    assert len(listed) == 3
    assert [job["job_id"] for job in listed if job["job_id"] in ("good-one", "last")]
    shown = escaping.id_text(record["job_id"])
    assert shown in [job["job_id"] for job in listed]
    for command in (
        ("dead", "list"),
        ("dead", "show", shown),
        ("dead", "show", "--partition", "0"),
    ):
        assert shell.run(*command) == 0
        assert not controls(shell.out + shell.err)
    assert shell.run("dead", "replay", "good-one") == 0  # beside it
    assert shell.run("dead", "discard", "--yes", shown) == 0
    assert shell.out == "1 discarded\n"
    assert [job["job_id"] for job in shell.json("dead", "list")] == ["last"]
    assert shell.run("dead", "discard", "--yes", "--all") == 0


def test_a_dead_job_whose_id_is_no_utf8_is_replayed_by_the_id_that_is_shown(
    shell: Shell, pool: QueuePool
) -> None:
    plant_dead(pool, NOT_UTF8)
    shown = shell.json("dead", "list")[0]["job_id"]

    assert shown == r"\xff\xfe\x20id\x20\x1b\x5b2J\x0d\x0a\x5cx41"
    assert shell.json("job", "show", shown)[0]["state"] == "dead"
    assert shell.run("dead", "replay", shown) == 0
    assert shell.json("job", "show", shown)[0]["state"] == "ready"
    assert shell.run("job", "cancel", shown) == 0


def test_the_id_on_the_table_is_one_word_without_anything_for_a_shell(
    shell: Shell, pool: QueuePool
) -> None:
    plant_dead(pool, b"$(rm -rf ~) `x` 'y' \"z\" ;")
    shell.run("dead", "list")

    row = shell.out.splitlines()[2]

    assert row.split()[0] == escaping.id_text(b"$(rm -rf ~) `x` 'y' \"z\" ;")
    assert not set("$`'\";()~ ") & set(row.split()[0])


def test_a_group_that_is_no_text_is_named_by_what_is_shown(shell: Shell, pool: QueuePool) -> None:
    key = b"\xff\x1b[2J"
    enqueued = pool.enqueue("send", {}, partition_key=key)
    job = shell.json("job", "show", enqueued.job_id)[0]

    assert job["group"] == r"\xff\x1b[2J"
    (group,) = shell.json("group", "show", job["group"])
    assert (group["key"], group["ready"]) == (job["group"], 1)
    assert shell.run("job", "show", enqueued.job_id, "--key", job["group"]) == 0
    assert shell.run("group", "cancel", job["group"]) == 0
    assert shell.out.startswith("1 cancelled")


def test_dead_jobs_are_filtered_by_a_group_that_is_no_text(shell: Shell, pool: QueuePool) -> None:
    key = b"\xff\x1b[2J"
    at_home = pool.producer.route(key).partition
    plant_dead(pool, b"mine", body=body_of(key), partition=at_home)
    plant_dead(pool, b"other", partition=at_home)
    shown = {job["job_id"]: job["key"] for job in shell.json("dead", "list")}

    assert shown["mine"] == r"\xff\x1b[2J"
    found = shell.json("dead", "list", "--key", shown["mine"])
    assert [job["job_id"] for job in found] == ["mine"]


def test_a_long_partition_key_is_shown_as_it_was_given(shell: Shell, pool: QueuePool) -> None:
    key = "customer/" + "0123456789" * 9
    route = pool.producer.route(key)
    body = body_of(route.group, options={"k": key})
    plant_dead(pool, b"mine", body=body, partition=route.partition)

    (job,) = shell.json("dead", "list")

    assert job["key"] == key
    assert len(shell.json("dead", "list", "--key", key)) == 1


def test_a_key_with_backslashes_is_still_that_key(shell: Shell, pool: QueuePool) -> None:
    for key in (r"C:\temp", r"\\server\share", "a\\"):
        pool.enqueue("send", {}, partition_key=key)

        assert shell.json("group", "show", key)[0]["ready"] == 1, key


@pytest.mark.parametrize("key", [" a", "a ", "a  b", "a\u3000b", "\xa0a", "日本 語", " "])
def test_a_key_is_shown_with_all_its_blanks(shell: Shell, pool: QueuePool, key: str) -> None:
    route = pool.producer.route(key)
    plant_dead(pool, b"mine", body=body_of(route.group), partition=route.partition)

    shell.run("dead", "show", "mine")
    (line,) = [line for line in shell.out.splitlines() if line.startswith("key ")]
    shown = line.removeprefix("key").strip()

    assert len(shell.json("dead", "list", "--key", shown)) == 1


def test_an_id_is_taken_with_digits_of_either_case(shell: Shell, pool: QueuePool) -> None:
    plant_dead(pool, b"\xff")

    assert shell.json("job", "show", r"\xFF")[0]["job_id"] == r"\xff"
    assert len(shell.json("dead", "list", r"\xFF")) == 1


def test_a_partition_that_cannot_be_read_hides_no_other(
    shell: Shell, pool: QueuePool, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set(pool.config.keyspace.partition(0) + b":dead", "no set")
    plant_dead(pool, b"mine", partition=1)

    for words, done in (
        (["dead", "list"], "mine"),
        (["dead", "show", "mine"], "mine"),
        (["dead", "replay", "mine"], "1 replayed"),
    ):
        assert shell.run(*words) == 1
        assert done in shell.out
        assert "no further dead jobs of partition 0 were read" in shell.err


def test_both_pools_take_the_id_that_they_show(pool: QueuePool) -> None:
    plant_dead(pool, NOT_UTF8)
    (dead,) = pool.partition(0).dead()

    assert pool.status(dead.job_id).state is JobState.DEAD
    assert escaping.id_bytes(dead.job_id) == NOT_UTF8
    with pytest.raises(InvalidInputError, match="job_id"):
        pool.enqueue("send", {}, partition_key="k", job_id=dead.job_id)
    assert pool.partition(0).replay([dead.job_id]).replayed == 1
    assert pool.cancel(dead.job_id) is JobState.READY


async def _status(url: str, stage: str, job_id: str) -> JobState:
    pool = AsyncQueuePool.from_env()
    try:
        return (await pool.status(job_id)).state
    finally:
        await pool.close()


def test_the_asyncio_pool_finds_a_job_by_the_id_that_is_shown(
    pool: QueuePool, redis_url: str, stage: str
) -> None:
    import asyncio

    plant_dead(pool, NOT_UTF8)

    shown = escaping.id_text(NOT_UTF8)

    assert asyncio.run(_status(redis_url, stage, shown)) is JobState.DEAD


def test_the_partition_in_memory_reads_such_ids_as_a_server_does() -> None:
    from queuepool.routing.topology import build
    from queuepool.settings.config import PoolConfig

    memory = MemoryServer()
    config = PoolConfig(topology=build({"main": "redis://x"}, 1, ""))
    with QueuePool(config=config, servers={"main": memory}) as pool:
        state = pool.status(escaping.id_text(NOT_UTF8))

    assert state.state is JobState.UNKNOWN
    assert state.job_id == escaping.id_text(NOT_UTF8)


@given(st.binary(max_size=80))
def test_every_id_and_every_key_is_read_back_as_it_is_shown(raw: bytes) -> None:
    assert escaping.id_bytes(escaping.id_text(raw)) == raw
    assert escaping.key_bytes_of(escaping.key_text(raw)) == raw
    assert not controls(escaping.id_text(raw) + escaping.key_text(raw), allowed=())


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_two_keys_are_never_shown_alike(one: bytes, other: bytes) -> None:
    if one != other:
        assert escaping.key_text(one) != escaping.key_text(other)
        assert escaping.id_text(one) != escaping.id_text(other)


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=40))
def test_a_key_that_can_be_shown_is_shown_and_read_as_it_is(text: str) -> None:
    if "\\x" not in text:
        assert escaping.key_text(text.encode()) == text
        assert escaping.key_bytes_of(text) == text.encode()
