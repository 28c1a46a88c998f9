"""Numbers that no one counted, and names that are no text, in what the commands look at."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pytest
import redis

from consumer.telemetry.counted import Counted
from queuepool import QueuePool, cli
from queuepool.verbs.leader import verbs as lead
from queuepool.verbs.operator import verbs as operate
from tests.security.planted import NASTY, controls

HUGE = b"9" * 400


@pytest.fixture
def pool(redis_url: str, stage: str, monkeypatch: pytest.MonkeyPatch) -> QueuePool:
    monkeypatch.setattr("queuepool.cli.commands.status._RATE_OVER_S", 0.0)
    for name in [n for n in os.environ if n.startswith("QUEUEPOOL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("QUEUEPOOL_URL", redis_url)
    monkeypatch.setenv("QUEUEPOOL_STAGE", stage)
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "2")
    return QueuePool.from_env()


def plant(pool: QueuePool, url: str, key: bytes, fields: Mapping[Any, Any]) -> None:
    with redis.Redis.from_url(url) as client:
        client.hset(key, mapping=dict(fields))


OWNER = {
    "nonce": "n", "epoch": "5", "expires": "1", "heartbeat": "1", "workers": "1", "busy": "1",
    "target": "1", "applied": b"\xff", "host": b"\xff\x1b[2J" + NASTY.encode(),
}  # fmt: skip
DAMAGE: dict[str, tuple[str, Mapping[Any, Any]]] = {
    "huge counters": (":c", {"r0": HUGE, "r1": b"-" + HUGE, "done": HUGE, "bytes": HUGE}),
    "counters without end": (":c", {"done": b"9" * 10_000}),
    "counters that are not numbers": (":c", {"done": b"\xff", "r2": NASTY}),
    "a counter of no name": (":c", {b"\xff\x1b": b"1", NASTY: b"2"}),
    "an owner of no name": (":o", OWNER),
    "an owner in no year": (":o", OWNER | {"expires": HUGE, "epoch": HUGE, "heartbeat": HUGE}),
    "an owner of huge counts": (":o", OWNER | {"workers": HUGE, "busy": HUGE, "target": HUGE}),
    "a checkpoint": (":ck", {"target": HUGE, "at": HUGE}),
    "tasks that wait": (":ua", {b"\xff": b"\xff\x1b[2J", "b": NASTY}),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("command", ["status", "watch --for 0.2s --interval 0.1s", "check"])
def test_a_damaged_partition_hides_no_other(
    pool: QueuePool, redis_url: str, damage: str, command: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    suffix, fields = DAMAGE[damage]
    with pool:
        plant(pool, redis_url, pool.config.keyspace.partition(0) + suffix.encode(), fields)
        pool.enqueue("t", {}, partition_key=_key_of(pool, 1))

    cli.main(command.split())
    text = "".join(capsys.readouterr())
    cli.main([*command.split(), "--json"])
    out = capsys.readouterr().out

    assert not controls(text + out)
    assert "Traceback" not in text
    for line in out.splitlines():
        for row in json.loads(line).get("partitions", [])[1:]:
            assert (row["partition"], row["backlog"], row["problem"]) == (1, 1, "")


def _key_of(pool: QueuePool, number: int) -> str:
    return next(k for k in map(str, range(99)) if pool.producer.route(k).partition == number)


def test_a_damaged_count_that_was_set_by_hand_hides_neither_the_others_nor_who_leads() -> None:
    manual = [b"0", b"notanumber", b"1", b"5:" + HUGE, b"\xff", b"1:2", b"3", b"5:99999999999999"]

    leader = lead.lead("", lease_ms=0, address="").read([0, b"7", 1, 10, b"\xff:1", manual])

    assert (leader.epoch, leader.address) == (7, r"\xff:1")
    assert leader.manual[3] == (5, 99999999999999)
    assert 0 not in leader.manual


def test_every_text_of_an_observation_is_utf8_and_visible_or_escaped(
    pool: QueuePool, redis_url: str
) -> None:
    with pool:
        base = pool.config.keyspace.partition(0)
        plant(pool, redis_url, base + b":o", OWNER)
        plant(pool, redis_url, base + b":ua", {"a": b"\xff\xfe"})
        state = pool.partition(0).run(operate.observe(0))

    assert state.owner is not None
    for text in (state.owner.host, state.owner.applied, state.last_command, *state.aside_tasks):
        text.encode()  # as a message of the API holds it
    assert state.aside_tasks == (r"\xff\xfe",)


def test_the_name_of_a_task_is_clean_in_a_label() -> None:
    counted = Counted()

    counted._observe(NASTY, [])

    assert not controls("".join(counted.process), allowed=())
