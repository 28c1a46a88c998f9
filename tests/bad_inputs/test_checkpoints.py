"""Checkpoints that are missing, absurd or old: a real consumer starts within its bounds."""

from collections.abc import Callable

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from consumer.core.restore import restored_workers
from queuepool import cli
from queuepool.cli.exits import Exit
from queuepool.partitions.partition import Partition
from queuepool.verbs.owner import verbs as own
from tests.bad_inputs.conftest import StartConsumer

BASE, MOST = 4, 32
DAY_MS = 86_400_000
When = Callable[[int], object]


def ago(ms: int) -> When:
    return lambda now_ms: now_ms - ms


@pytest.mark.parametrize(
    ("target", "at", "workers"),
    [
        ("-5", ago(0), range(BASE, BASE + 1)),
        (str(10**9), ago(0), range(MOST, MOST + 1)),
        ("20", ago(600_000), range(8, 9)),  # ten minutes: 20 / e
        (str(10**9), ago(30 * DAY_MS), range(BASE, BASE + 1)),
        ("20", lambda _: "9" * 400, range(BASE, BASE + 1)),
    ],
    ids=["negative", "huge", "of ten minutes", "of thirty days", "of no time"],
)  # fmt: skip
def test_a_consumer_starts_within_its_bounds(
    partition: Partition,
    redis_url: str,
    consume: StartConsumer,
    target: str,
    at: When,
    workers: range,
) -> None:
    with redis.Redis.from_url(redis_url) as client:
        seconds, _ = client.time()
        key = partition.key + b":ck"
        client.hset(key, mapping={"target": target, "at": str(at(seconds * 1000))})

    process = consume(workers=BASE)

    process.says(" owns partition 0 with ")
    started = int(process.log.split(" owns partition 0 with ")[1].split()[0])
    assert started in workers


def test_without_one_it_starts_with_its_base(partition: Partition, consume: StartConsumer) -> None:
    process = consume(workers=BASE)

    process.says(f" owns partition 0 with {BASE} workers")


ANYTHING = st.binary(max_size=30) | st.integers().map(lambda n: b"%d" % n) | st.just(b"9" * 5_000)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_whatever_is_stored_the_count_stays_in_bounds(
    target: bytes, at: bytes, applied: bytes
) -> None:
    verb = own.acquire(0, "nonce", lease_ms=1, host="h")

    acquired = verb.read([1, 7, 1_767_225_600_000, 0, target, at, applied])

    assert isinstance(acquired, own.Acquired)
    age_s = (acquired.now_ms - (acquired.checkpoint_ms or 0)) / 1000
    count = restored_workers(acquired.checkpoint, age_s, min_workers=BASE, max_workers=MOST)
    assert BASE <= count <= MOST
    assert all(int(part) < 2**64 for part in acquired.applied.split("-"))


@pytest.mark.parametrize(
    ("suffix", "field"), [("ck", "target"), ("ck", "at"), ("o", "epoch"), ("o", "workers")]
)
def test_a_number_that_is_damaged_hides_nothing_else_of_the_partition(
    partition: Partition,
    redis_url: str,
    stage: str,
    suffix: str,
    field: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partition.acquire(lease_s=60, host="test")
    with redis.Redis.from_url(redis_url) as client:
        client.hset(partition.key + f":{suffix}".encode(), field, "many")
    monkeypatch.setenv("QUEUEPOOL_URL", redis_url)
    monkeypatch.setenv("QUEUEPOOL_STAGE", stage)
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "1")

    state = partition.observe()
    code = cli.main(["status"])

    printed = "".join(capsys.readouterr())
    assert state.owner is not None
    assert state.owner.host == "test"
    assert state.checkpoint is None or suffix == "o"
    assert code != Exit.UNAVAILABLE
    assert "Traceback" not in printed
