"""From jobs to chunks: all of them, in order, bounded, laid out as the script reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuepool import Enqueued, InvalidInputError, Job, PayloadTooLargeError, PoolConfig
from queuepool.client.arguments import delay_until
from queuepool.client.chunks import CHUNK, Chunk
from queuepool.client.producer import Producer
from queuepool.client.results import ACCEPTED, DUPLICATE, REJECTED, UNKNOWN, EnqueueResults
from queuepool.protocol import codec
from queuepool.routing.topology import single
from queuepool.tasks.registry import Registry

KEYS = st.sampled_from([f"key-{i}" for i in range(12)])
ITEMS = st.lists(
    st.tuples(KEYS, st.integers(0, 3), st.sampled_from([0.0, 0.0, 1.5]), st.booleans()),
    max_size=700,
)


def producer(partitions: int = 4, **limits: Any) -> Producer:
    return Producer(PoolConfig(topology=single("redis://h", partitions), **limits), Registry())


def chunks(
    made: Producer,
    items: Any,
    key: Any = None,
    held: dict[bytes, Chunk] | None = None,
    **options: Any,
) -> Iterator[Chunk]:
    """Return the chunks of one bulk call."""
    plain = dict.fromkeys(("tier", "delay_s", "max_attempts", "timeout_s")) | options
    return made.chunks(made.defaults("t", **plain), items, key, held)


def jobs_of(chunk: Chunk) -> list[tuple[int, bytes, int, bytes, bytes]]:
    """Return (tier, group, delay ms, id, tail) of each job, read as the script reads its runs."""
    found: list[Any] = []
    at = 0
    while at < len(chunk.runs):
        tier, group, delay_ms, count = chunk.runs[at : at + 4]
        assert isinstance(count, int)
        assert count >= 1
        at += 4
        for _ in range(count):
            found.append((tier, group, delay_ms, chunk.runs[at], chunk.runs[at + 1]))
            at += 2
    return found


@given(ITEMS, st.integers(1, 40))
def test_every_job_is_in_one_chunk_and_groups_keep_their_order(
    items: list[tuple[str, int, float, bool]], partitions: int
) -> None:
    made = producer(partitions)
    jobs = [
        Job(
            {"n": n},
            partition_key=key,
            tier=tier,
            delay_s=delay_s,
            job_id=f"own-{n}" if own else None,
        )
        for n, (key, tier, delay_s, own) in enumerate(items)
    ]
    seen: list[int] = []
    order: dict[bytes, list[int]] = defaultdict(list)

    for chunk in chunks(made, jobs):
        laid_out = jobs_of(chunk)
        assert 1 <= len(laid_out) == len(chunk.ids) == len(chunk.positions) <= CHUNK
        assert chunk.size_bytes == sum(13 + len(tail) for *_, tail in laid_out)
        for position, job_id, job in zip(chunk.positions, chunk.ids, laid_out, strict=True):
            key, tier, delay_s, own = items[position]
            assert job[:3] == (tier, key.encode(), round(delay_s * 1000))
            assert job[3] == job_id == (b"own-%d" % position if own else job_id)
            assert made.route(key).partition == chunk.partition
            body = b"12" + b"0" * 11 + job[4]
            assert codec.read_group(body) == key.encode()
            assert codec.decode_envelope(body).payload == {"n": position}
            order[job[1]].append(position)
        seen += chunk.positions

    assert sorted(seen) == list(range(len(items)))
    assert all(positions == sorted(positions) for positions in order.values())


def test_jobs_alike_share_one_run() -> None:
    (chunk,) = chunks(producer(), [{}] * 3, "g")

    assert chunk.runs[:4] == [2, b"g", 0, 3]


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (1, [1]), (200, [200]), (201, [200, 1])])
def test_batches_are_split(n: int, sizes: list[int]) -> None:
    assert [len(c.ids) for c in chunks(producer(), ({} for _ in range(n)), "g")] == sizes


def test_a_hundred_thousand_jobs_have_a_hundred_thousand_ids() -> None:
    ids = [i for c in chunks(producer(), ({} for _ in range(100_000)), "g") for i in c.ids]

    assert len(set(ids)) == 100_000


@pytest.mark.thorough
def test_over_many_partitions_few_jobs_are_held_back() -> None:
    made, taken, yielded, worst = producer(4096), 0, 0, 0

    def items() -> Iterator[dict[str, int]]:
        nonlocal taken
        for i in range(60_000):
            taken += 1
            yield {"i": i}

    for chunk in chunks(made, items(), lambda row: str(row["i"])):
        worst = max(worst, taken - yielded)
        yielded += len(chunk.ids)

    assert yielded == 60_000
    assert worst <= 20_000


def test_big_payloads_are_held_back_by_bytes() -> None:
    made, held = producer(64), dict[bytes, Chunk]()
    rows = ({"i": i, "x": "x" * 200_000} for i in range(500))
    worst = most = 0

    for chunk in chunks(made, rows, lambda row: str(row["i"]), held):
        worst = max(worst, chunk.size_bytes + sum(c.size_bytes for c in held.values()))
        most = max(most, chunk.size_bytes)

    assert worst <= 33 * 1024**2
    assert most <= 4 * 1024**2 + 256 * 1024


def test_what_is_held_back_can_be_seen() -> None:
    made, held = producer(4), dict[bytes, Chunk]()

    def items() -> Iterator[dict[str, int]]:
        for i in range(300):
            yield {"i": i}
        assert sum(len(c.ids) for c in held.values()) == 300
        raise KeyError("the end")

    waiting = chunks(made, items(), lambda row: f"k{row['i'] % 50}", held)
    sizes: list[int] = []
    with pytest.raises(KeyError, match="the end"):
        sizes.extend(len(chunk.ids) for chunk in waiting)

    assert held == {}


@pytest.mark.parametrize("key", [None, 7, ["k"], {"k"}, b"", "", "k" * 65_537, float("nan")])
def test_a_key_that_is_none_is_refused(key: Any) -> None:
    for given_as in (key, lambda _payload: key):
        with pytest.raises(InvalidInputError, match="partition_key"):
            list(chunks(producer(), [{}], given_as))
    with pytest.raises(InvalidInputError, match="partition_key"):
        list(chunks(producer(), [Job({}, partition_key=key)]))


def test_the_whole_of_a_long_key_stays_with_the_job() -> None:
    key = "long-" * 20
    made = producer()

    (one,) = chunks(made, [{}], key)
    (other,) = chunks(made, [{}], lambda _row: key)

    for chunk in (one, other):
        body = b"12" + b"0" * 11 + jobs_of(chunk)[0][4]
        assert len(codec.read_group(body)) == 16
        assert codec.decode_envelope(body).options.key == key


OPTIONS = [
    *({"tier": t} for t in (5, -1, 4, "high ", "", "urgent", 1.0, True, b"high")),
    *(
        {"delay_s": d}
        for d in (-1, -0.001, float("inf"), float("nan"), 1e18, 10**400, "5", True, "")
    ),
    *({"max_attempts": n} for n in (0, -1, 2**31, 1.5, "3", True)),
    *({"timeout_s": t} for t in (0, -1, float("nan"), float("inf"), 8 * 86400, "5", True)),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_bad_option_is_refused_for_the_call_and_for_one_job(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(InvalidInputError, match=name):
        list(chunks(producer(), [{}], "g", **options))
    with pytest.raises(InvalidInputError, match=name):
        list(chunks(producer(), [Job({}, **options)], "g"))


@pytest.mark.parametrize(
    "options",
    [
        *({"tier": t} for t in (0, 3, "HIGH", "low")),
        *({"delay_s": d} for d in (0, 0.001, 366 * 86400)),
        *({"max_attempts": n} for n in (1, 2**31 - 1)),
        *({"timeout_s": t} for t in (0.001, 7 * 86400)),
    ],
    ids=str,
)
def test_an_option_at_its_limit_is_taken(options: dict[str, Any]) -> None:
    both: tuple[list[Any], ...] = ([{}], [Job({}, **options)])
    for items in both:
        given_as = options if items == [{}] else {}
        (chunk,) = chunks(producer(), items, "g", **given_as)
        assert len(chunk.ids) == 1


@pytest.mark.parametrize("job_id", ["", "a" * 65, "a b", "ä", "a\n", "a/b", b"a", 7, "\x00", "!a"])
def test_an_id_of_ones_own_has_a_form(job_id: Any) -> None:
    with pytest.raises(InvalidInputError, match="job_id"):
        list(chunks(producer(), [Job({}, job_id=job_id)], "g"))


@pytest.mark.parametrize("task", ["", "x" * 129, "\ud800"])
def test_a_task_has_a_name(task: str) -> None:
    made = producer()
    with pytest.raises(InvalidInputError, match="task name"):
        made.defaults(task, tier=None, delay_s=None, max_attempts=None, timeout_s=None)


@pytest.mark.parametrize(("size", "fits"), [(0, True), (1, False), (10**6, False), (10**8, False)])
def test_the_limit_of_a_payload_is_exact(size: int, fits: bool) -> None:
    made = producer(max_payload_bytes=100)
    payload = {"x": "a" * (100 - len('["t",{"x":""}]') + size)}

    if fits:
        (chunk,) = chunks(made, [payload], "g")
        assert chunk.size_bytes == 13 + len(made.route("g").tail) + 100
    else:
        with pytest.raises(PayloadTooLargeError):
            list(chunks(made, [payload], "g"))


def test_an_empty_payload_is_one() -> None:
    (chunk,) = chunks(producer(), [{}], "g")

    assert jobs_of(chunk)[0][4].endswith(b'["t",{}]')


# -- results ---------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_input() -> None:
    results = EnqueueResults()
    results.put([1, 3], [b"b", b"d"], 3, [ACCEPTED, DUPLICATE])
    results.put([0, 2], [b"a", b"c"], 1, [REJECTED, UNKNOWN])
    results.put([4, 5], [b"e", b"f"], 4095, [ACCEPTED, ACCEPTED])

    assert [r.job_id for r in results] == list("abcdef")
    assert [r.partition for r in results] == [1, 3, 1, 3, 4095, 4095]
    counts = (results.accepted, results.duplicates, results.rejected, results.unknown)
    assert counts == (3, 1, 1, 1)
    assert repr(results) == "EnqueueResults(accepted=3, duplicates=1, rejected=1, unknown=1)"


def test_results_are_a_sequence() -> None:
    results = EnqueueResults()
    results.put([0, 1, 2], [b"a", b"b", b"c"], 0, [ACCEPTED] * 3)

    assert len(results) == 3
    assert isinstance(results[-1], Enqueued)
    assert [r.job_id for r in results[1:]] == ["b", "c"]
    assert [r.job_id for r in reversed(results)] == ["c", "b", "a"]
    assert results[0] in results
    with pytest.raises(IndexError):
        results[3]


def test_a_later_answer_replaces_an_earlier_one() -> None:
    results = EnqueueResults()
    results.put([0], [b"a"], 0, [REJECTED])
    results.put([0], [b"a"], 0, [ACCEPTED])

    assert (len(results), results.accepted, results.rejected) == (1, 1, 0)


# -- times -----------------------------------------------------------------------------------------


def test_a_moment_is_a_delay_from_now() -> None:
    delay_s = delay_until(datetime.now(UTC) + timedelta(hours=1), None)

    assert delay_s == pytest.approx(3600, abs=5)


def test_a_moment_in_the_past_is_now() -> None:
    assert delay_until(datetime(2000, 1, 1, tzinfo=UTC), None) == 0.0


def test_without_a_moment_the_delay_stands() -> None:
    assert delay_until(None, 3.0) == 3.0
    assert delay_until(None, None) is None


@pytest.mark.parametrize(
    ("run_at", "delay_s", "told"),
    [
        (datetime(2030, 1, 1, tzinfo=UTC), 1.0, "not both"),
        (datetime(2030, 1, 1), None, "no time zone"),  # noqa: DTZ001
        ("2030-01-01", None, "datetime"),
        (1_893_456_000, None, "datetime"),
    ],
)
def test_an_unclear_moment_is_refused(run_at: Any, delay_s: float | None, told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        delay_until(run_at, delay_s)
