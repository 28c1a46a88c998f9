"""Commands that no one should have written: a real consumer refuses or clamps each, and lives."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from consumer.core.commands import MAX_WORKERS, resolve
from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.verbs.owner.commands import read_command
from tests.bad_inputs.conftest import StartConsumer
from tests.integration.consumer.processes import ConsumerProcess, drained
from tests.waiting import wait_until

FOR_EVER = "9" * 15
SOUND: dict[Any, Any] = {
    "type": "SCALE_UP",
    "partition": "0",
    "targetWorkers": "6",
    "reason": "test",
    "expires": FOR_EVER,
}
REFUSED: dict[str, dict[Any, Any]] = {
    "target of -1": {**SOUND, "targetWorkers": "-1"},
    "target of 0": {**SOUND, "targetWorkers": "0"},
    "target of a billion": {**SOUND, "targetWorkers": str(10**9)},
    "target of 5,000 digits": {**SOUND, "targetWorkers": "9" * 5_000},
    "target of 4,000 digits": {**SOUND, "targetWorkers": "9" * 4_000},
    "target in words": {**SOUND, "targetWorkers": "many"},
    "target in JSON": {**SOUND, "targetWorkers": '{"workers": 6}'},
    "target of no number": {**SOUND, "targetWorkers": "nan"},
    "no target": {k: v for k, v in SOUND.items() if k != "targetWorkers"},
    "another partition": {**SOUND, "partition": "7"},
    "no partition": {**SOUND, "partition": ""},
    "unknown type": {**SOUND, "type": "EXPLODE"},
    "type of odd bytes": {**SOUND, "type": b"SCALE_UP\xff\x00"},
    "no type": {k: v for k, v in SOUND.items() if k != "type"},
    "expired": {**SOUND, "expires": "1"},
    "no expiry": {k: v for k, v in SOUND.items() if k != "expires"},
    "one field of JSON": {"command": '{"type": "SCALE_UP", "targetWorkers": 6'},
    "a field of odd bytes": {**SOUND, "targetWorkers": "x", b"\xff\xfe\x00": b"\xff"},
    "a reason of a megabyte": {**SOUND, "type": "?", "reason": "x" * 1_000_000},
}


@pytest.fixture
def client(redis_url: str) -> Iterator[Any]:
    with redis.Redis.from_url(redis_url) as made:
        yield made


def say(client: Any, partition: Partition, sequence: int, fields: dict[Any, Any]) -> str:
    """Append a command as it is, past the script; ring the owner."""
    command_id = f"5-{sequence}"
    client.xadd(partition.key + b":cmd", fields, id=command_id)
    client.rpush(partition.key + b":wk", "c")
    return command_id


def target(partition: Partition) -> int:
    owner = partition.observe().owner
    return owner.target if owner else 0


def applied(partition: Partition) -> str:
    owner = partition.observe().owner
    return owner.applied if owner else ""


def refused(process: ConsumerProcess) -> int:
    """Return how many commands it counts as refused."""
    status, text = process.get("/metrics")
    assert status == 200
    found = re.search(r"^queuepool_consumer_commands_refused_total\S* (\S+)$", text, re.MULTILINE)
    return int(float(found[1])) if found else 0


def test_bad_commands_are_refused_with_a_metric_and_a_good_one_is_obeyed(
    pool: QueuePool, partition: Partition, consume: StartConsumer, client: Any
) -> None:
    process = consume(workers=4, lease_s=60)
    process.owns(partition)
    for n, fields in enumerate(REFUSED.values(), start=1):
        last = say(client, partition, n, fields)
    wait_until(lambda: applied(partition) == last)

    assert target(partition) == 4
    wait_until(lambda: refused(process) == len(REFUSED))
    say(client, partition, 1_000, SOUND)
    wait_until(lambda: target(partition) == 6)
    say(client, partition, 1_001, {**SOUND, "targetWorkers": str(MAX_WORKERS)})
    wait_until(lambda: target(partition) == 32)  # clamped to 8 times the base
    drained(partition, len(pool.enqueue_many("work", [{}] * 20, partition_key="g")))
    assert len(process.log) < 100_000
    assert "Traceback" not in process.log
    assert process.stop() == 0


def test_commands_that_were_there_before_the_owner_do_not_keep_it_from_starting(
    partition: Partition, consume: StartConsumer, client: Any
) -> None:
    for n, fields in enumerate(REFUSED.values(), start=1):
        say(client, partition, n, fields)
    client.hset(partition.key + b":o", "applied", "0-0")

    process = consume(workers=4, lease_s=60)

    process.owns(partition)
    wait_until(lambda: refused(process) == len(REFUSED))
    assert process.stop() == 0


@pytest.mark.parametrize("known", ["", "nonsense", "99999999999999999999999-1", "-1", "5-1-1"])
def test_a_damaged_note_of_the_last_command_does_not_stop_the_next_owner(
    partition: Partition, consume: StartConsumer, client: Any, known: str
) -> None:
    client.hset(partition.key + b":o", "applied", known)

    process = consume(workers=4, lease_s=60)
    process.owns(partition)
    say(client, partition, 1, SOUND)

    wait_until(lambda: target(partition) == 6)
    assert process.stop() == 0


TEXTS = st.binary(max_size=30) | st.sampled_from(
    [b"SCALE_UP", b"SCALE_DOWN", b"NOOP", b"0", b"3", b"6", b"-1", b"9" * 5_000, b"9" * 15]
)
NAMES = TEXTS | st.sampled_from([b"type", b"partition", b"targetWorkers", b"expires", b"reason"])


@given(
    st.lists(st.lists(st.tuples(NAMES, TEXTS), max_size=6), max_size=8),
    st.integers(1, 50),
    st.integers(0, 50),
)
def test_whatever_a_command_holds_the_target_stays_in_bounds(
    commands: list[list[tuple[bytes, bytes]]], low: int, more: int
) -> None:
    read = [
        read_command(b"5-%d" % n, [part for pair in flat for part in pair])
        for n, flat in enumerate(commands, start=1)
    ]

    resolution = resolve(
        read, partition=3, now_ms=1_000, min_workers=low, max_workers=low + more, applied="0-0"
    )

    assert resolution.target is None or low <= resolution.target <= low + more
    assert resolution.applied == (f"5-{len(read)}" if read else "0-0")
    assert len(resolution.refused) <= len(read)
