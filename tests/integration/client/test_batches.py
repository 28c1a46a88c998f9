"""Jobs with a continuation, as an application uses them: pools in memory, and run_jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from queuepool import (
    After,
    BatchState,
    EndOf,
    InvalidInputError,
    Job,
    JobContext,
    JobState,
    PermanentError,
    QueueFullError,
    QueuePool,
    Registry,
    UnavailableError,
)
from queuepool.testing import FakeClock, MemoryPool, run_jobs
from queuepool.verbs import Verb
from queuepool.verbs.flows import verbs as flow


class Album:
    """Tasks of an album: photos are resized, some fail, and then it is published."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.clock = FakeClock()
        self.pool = MemoryPool(4, registry=self.registry, clock=self.clock)
        self.failing: set[int] = set()
        self.published: list[Any] = []
        self.grown = 0
        task = self.registry.task

        @task(max_attempts=1)
        def resize(photo: int) -> str:
            if photo in self.failing:
                raise PermanentError("no photo")
            return f"small-{photo}"

        @task(max_attempts=2)
        def split(ctx: JobContext, parts: int) -> str:
            rows = [{"photo": n} for n in range(parts)]
            self.pool.enqueue_many("resize", rows, partition_key="more", into=ctx.batch)
            self.grown += 1
            if ctx.attempt == 1:
                raise RuntimeError("after it has added its jobs")
            return "split"

        @task(max_attempts=1)
        def publish(ctx: JobContext, album: int) -> list[Any]:
            found = [each.result if each.ok else str(each.end) for each in ctx.results()]
            self.published.append((album, found))
            return found

        @task(max_attempts=1)
        def nest(ctx: JobContext, parts: int) -> None:
            rows = [{"photo": n} for n in range(parts)]
            after = After("publish", {"album": 99})
            self.pool.enqueue_many(
                "resize", rows, partition_key="inner", then=after, into=ctx.batch
            )

    def enqueue(self, photos: int, key: Any = "album-7", **after: Any) -> Any:
        rows = [{"photo": n} for n in range(photos)]
        then = After("publish", {"album": 7}, **after)
        return self.pool.enqueue_many("resize", rows, partition_key=key, then=then)


@pytest.fixture
def album() -> Album:
    return Album()


def test_the_continuation_has_all_results_in_order(album: Album) -> None:
    results = album.enqueue(300)

    report = run_jobs(album.pool)

    assert report.done == 301
    assert album.published == [(7, [f"small-{n}" for n in range(300)])]
    assert results.batch.status().state is BatchState.FIRED
    assert results.batch.continuation.result()[:1] == ["small-0"]
    assert [each.number for each in results.batch.results()] == list(range(300))


def test_jobs_in_other_partitions_tell_it_too(album: Album) -> None:
    results = album.enqueue(40, key=lambda row: f"photo-{row['photo']}", partition_key="album-7")
    assert len({each.partition for each in results}) == 4

    run_jobs(album.pool)

    assert album.published == [(7, [f"small-{n}" for n in range(40)])]


def test_without_a_common_key_the_continuation_needs_its_own(album: Album) -> None:
    with pytest.raises(InvalidInputError, match="needs a partition_key"):
        album.enqueue(2, key=lambda row: f"photo-{row['photo']}")


def test_partial_runs_in_spite_of_failures(album: Album) -> None:
    album.failing = {1}
    album.enqueue(3, on_failure="partial")

    run_jobs(album.pool)

    assert album.published == [(7, ["small-0", "dead", "small-2"])]


def test_fail_lets_it_die_with_the_list(album: Album) -> None:
    album.failing = {1}
    results = album.enqueue(3)

    run_jobs(album.pool)

    assert album.published == []
    status = album.pool.status(results.batch.name)
    assert status.state is JobState.DEAD
    assert status.error is not None
    assert "numbers 1" in status.error.message


def test_wait_waits_for_a_replay(album: Album) -> None:
    album.failing = {1}
    results = album.enqueue(3, on_failure="wait")
    run_jobs(album.pool)
    assert (album.published, results.batch.status().dead) == ([], 1)

    album.failing.clear()
    for partition in album.pool.partitions():
        partition.replay([results[1].job_id])
    run_jobs(album.pool)

    assert album.published == [(7, ["small-0", "small-1", "small-2"])]


def test_the_deadline_ends_the_wait(album: Album) -> None:
    album.failing = {0}
    album.enqueue(2, on_failure="wait", deadline_s=600)
    run_jobs(album.pool)
    assert album.published == []

    album.clock.advance(601)
    run_jobs(album.pool)

    assert album.published == [(7, ["dead", "small-1"])]


def test_a_batch_grows_from_inside_once_although_the_job_is_repeated(album: Album) -> None:
    then = After("publish", {"album": 7})
    jobs = [Job({"parts": 3}, task="split"), Job({"photo": 9}, task="resize")]
    results = album.pool.enqueue_many(jobs, partition_key="album-7", then=then)
    run_jobs(album.pool, jitter=0)
    album.clock.advance(3600)

    run_jobs(album.pool)

    assert album.grown == 2
    assert album.published == [(7, ["split", "small-9", "small-0", "small-1", "small-2"])]
    assert results.batch.status().total == 5


def _by_photo(row: Any) -> str:
    return f"photo-{row['photo']}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": [{"photo": 1}, {"photo": "x"}, {"photo": 2}]},
        {"rows": [{"photo": 1}, {"photo": object()}]},
        {"rows": [{"photo": 1}, {"no": 1}]},
        {"rows": [{"photo": 1}, {"no": 1}], "partition_key": _by_photo},
        {"rows": [{"photo": 1}, Job({"photo": 2}, job_id="mine")]},
        {"rows": [{"photo": 1}], "tier": "urgent"},
        {"rows": [{"photo": 1}], "spread": 0},
        {"rows": [{"photo": 1}], "durability": "eternal"},
    ],
)
@pytest.mark.parametrize("nested", [True, False])
def test_a_wrong_call_that_adds_to_a_batch_leaves_nothing_to_wait_for(
    album: Album, wrong: dict[str, Any], nested: bool
) -> None:
    rows, options = wrong["rows"], {"partition_key": "more", **wrong}
    del options["rows"]

    @album.registry.task(max_attempts=1)
    def mix(ctx: JobContext) -> None:
        then = After("publish", {"album": 99}, partition_key="more") if nested else None
        some = (row for row in rows)
        album.pool.enqueue_many("resize", some, then=then, into=ctx.batch, **options)

    then = After("publish", {"album": 7}, on_failure="partial")
    jobs = [Job({}, task="mix")]
    results = album.pool.enqueue_many(jobs, partition_key="a", then=then)
    run_jobs(album.pool)

    assert results.batch.status().total == 1
    assert album.published == [(7, ["dead"])]


@pytest.mark.parametrize("wrong", [{"tier": "urgent"}, {"spread": 0}, {"durability": "eternal"}])
def test_a_call_with_a_wrong_option_defines_no_batch(album: Album, wrong: dict[str, Any]) -> None:
    then = After("publish", {"album": 7})
    with pytest.raises(InvalidInputError):
        album.pool.enqueue_many("resize", [{"photo": 1}], partition_key="a", then=then, **wrong)

    assert [album.pool.server.data(p.key).batches for p in album.pool.partitions()] == [{}] * 4


@pytest.mark.parametrize("twin", ["threads", "asyncio"])
@pytest.mark.parametrize("fault", ["a wrong job", "a full partition"])
def test_a_call_that_stores_no_job_leaves_no_batch_that_waits(
    album: Album, fault: str, twin: str
) -> None:
    """What is wrong with the first jobs is seen before; else the batch is cancelled."""
    job_id = "mine" if fault == "a wrong job" else None
    error = InvalidInputError if job_id else QueueFullError
    jobs = [Job({"photo": n}, task="resize", job_id=job_id) for n in range(9)]
    pool = MemoryPool(4, registry=album.registry, clock=album.clock, max_depth=5)

    async def awaited() -> None:
        await pool.asyncio().enqueue_many(jobs, partition_key="a", then=after)

    def call() -> None:
        if twin == "threads":
            pool.enqueue_many(jobs, partition_key="a", then=after)
        else:
            asyncio.run(awaited())

    after = After("publish", {"album": 1})
    with pytest.raises(error) as caught:
        call()

    assert not [note for note in getattr(caught.value, "__notes__", []) if "batch" in note]
    states = [place.observe() for place in pool.partitions()]
    assert not any(state.jobs for state in states)
    stored = sum(state.counters.get("enqueued", 0) for state in states)
    assert stored == (0 if job_id else 1), "only a continuation, which is cancelled"


def test_an_error_after_some_jobs_were_stored_names_the_batch(album: Album) -> None:
    jobs = [Job({"photo": n}, task="resize") for n in range(700)]
    jobs[650] = jobs[650].with_options(job_id="mine")

    with pytest.raises(InvalidInputError, match="job_id") as caught:
        album.pool.enqueue_many(jobs, partition_key="a", then=After("publish", {"album": 1}))

    assert any("has not all its jobs" in note for note in caught.value.__notes__)


def test_a_batch_contains_a_batch(album: Album) -> None:
    then = After("publish", {"album": 7})
    jobs = [Job({"parts": 2}, task="nest")]
    results = album.pool.enqueue_many(jobs, partition_key="album-7", then=then)

    run_jobs(album.pool)

    assert album.published == [(99, ["small-0", "small-1"]), (7, [None, ["small-0", "small-1"]])]
    tree = results.batch.tree()
    assert [inner.status.done for inner in tree.inner] == [2]
    assert tree.inner[0].status.within == results.batch.name


def test_cancelling_it_cancels_what_has_not_run_and_the_batches_in_it(album: Album) -> None:
    then = After("publish", {"album": 7})
    jobs = [Job({"parts": 2}, task="nest"), *(Job({"photo": n}, task="resize") for n in range(3))]
    results = album.pool.enqueue_many(jobs, partition_key="album-7", then=then)
    run_jobs(album.pool, max_jobs=1)

    cancelled = results.batch.cancel()
    report = run_jobs(album.pool)

    assert cancelled == 3 + 1 + 2  # of the batch, the continuation of the inner one, its jobs
    assert (report.done, album.published) == (0, [])
    assert results.batch.status().state is BatchState.CANCELLED
    assert results.batch.continuation.status().state is JobState.CANCELLED


def test_cancelling_it_reaches_all_of_very_many_batches_in_it(album: Album) -> None:
    jobs = [Job({"parts": 1}, task="nest") for _ in range(230)]
    results = album.pool.enqueue_many(jobs, partition_key="a", then=After("publish", {"album": 7}))
    run_jobs(album.pool, max_jobs=230)

    results.batch.cancel()
    report = run_jobs(album.pool)

    assert (report.done, album.published) == (0, [])


@pytest.mark.parametrize("inner", [1, 120, 600])
def test_cancelling_it_takes_few_round_trips_and_few_looks_at_all_jobs(
    album: Album, inner: int
) -> None:
    jobs = [Job({"parts": 1}, task="nest") for _ in range(inner)]
    results = album.pool.enqueue_many(jobs, partition_key="a", then=After("publish", {"album": 7}))
    run_jobs(album.pool, max_jobs=inner)
    calls = list[list[str]]()
    plain = album.pool.server.run

    def counted(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        calls.append([verb.script for verb in verbs])
        return plain(key, verbs)

    album.pool.server.run = counted  # type: ignore[method-assign]
    assert results.batch.cancel() == 2 * inner

    looks = sum(script == "cancel_children" for scripts in calls for script in scripts)
    assert looks == 4 * (1 + inner // 500)  # at each partition
    assert len(calls) < 20 + inner / 20
    assert max(map(len, calls)) <= 100


def test_a_cancellation_that_broke_off_anywhere_is_completed_by_the_next(album: Album) -> None:
    jobs = [Job({"parts": 2}, task="nest") for _ in range(5)]
    plain = album.pool.server.run
    for crash_at in range(100):
        album.pool.server.run = plain  # type: ignore[method-assign]
        then = After("publish", {"album": 7})
        results = album.pool.enqueue_many(jobs, partition_key="a", then=then)
        run_jobs(album.pool, max_jobs=3)
        calls = count()

        def broken(
            key: bytes, verbs: Sequence[Verb[Any]], calls: Any = calls, crash_at: int = crash_at
        ) -> list[Any]:
            if next(calls) == crash_at:
                raise KeyboardInterrupt
            return plain(key, verbs)

        album.pool.server.run = broken  # type: ignore[method-assign]
        try:
            results.batch.cancel()
            break
        except KeyboardInterrupt:
            results.batch.cancel()
        report = run_jobs(album.pool)
        assert (report.done, album.published) == (0, [])
    assert 10 < crash_at < 40


def test_a_batch_that_is_opened_in_a_cancelled_one_is_cancelled(
    album: Album, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = After("publish", {"album": 7})
    jobs = [Job({"parts": 2}, task="nest")]
    results = album.pool.enqueue_many(jobs, partition_key="album-7", then=then)
    opened: list[str] = []
    open_batch = flow.open_batch

    def open_late(name: str, *args: Any, **options: Any) -> Any:
        if options.get("within") and not opened:  # its place in the outer one is reserved
            opened.append(name)
            results.batch.cancel()
        return open_batch(name, *args, **options)

    monkeypatch.setattr(flow, "open_batch", open_late)
    run_jobs(album.pool)

    assert len(opened) == 1
    assert album.published == []
    inner = album.pool.batch(opened[0])
    assert inner.status().state is BatchState.CANCELLED
    assert inner.continuation.status().state is JobState.CANCELLED


def test_a_call_repeated_with_its_batch_id_adds_nothing(album: Album) -> None:
    first = album.enqueue(3, batch_id="nightly-22")
    second = album.enqueue(3, batch_id="nightly-22")
    assert (first.accepted, second.duplicates) == (3, 3)
    with pytest.raises(InvalidInputError, match="another number of jobs"):
        album.enqueue(4, batch_id="nightly-22")

    run_jobs(album.pool)

    assert len(album.published) == 1
    with pytest.raises(InvalidInputError, match=r"has concluded.*there is nothing to repeat"):
        album.enqueue(3, batch_id="nightly-22")


def test_a_batch_of_no_jobs_continues_at_once(album: Album) -> None:
    album.enqueue(0)

    run_jobs(album.pool)

    assert album.published == [(7, [])]


def test_results_of_jobs_that_have_not_ended(album: Album) -> None:
    results = album.enqueue(2)

    assert [each.end for each in results.batch.results()] == [EndOf.OPEN] * 2
    assert results.batch.status().left == 2


def test_a_pool_of_another_kind_is_part_of_the_name(album: Album) -> None:
    results = album.enqueue(2, pool="video")
    assert results.batch.name.endswith("-video")

    run_jobs(album.pool)

    assert len(album.published) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"on_failure": "ignore"}, "on_failure='ignore'"),
        ({"on_deadline": "wait"}, "on_deadline='wait'"),
        ({"deadline_s": 0}, "deadline_s=0"),
        ({"deadline_s": 91 * 86_400}, "at most 90 days"),
        ({"keep_s": -1}, "keep_s=-1"),
        ({"batch_id": ""}, "batch_id=''"),
    ],
)
def test_a_wrong_option_is_told(album: Album, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        album.enqueue(1, **wrong)


def test_jobs_of_a_batch_have_no_ids_and_unique_keys_of_their_own(album: Album) -> None:
    after = After("publish", {"album": 7})
    for job in (Job({"photo": 1}, job_id="mine"), Job({"photo": 1}, unique="k")):
        with pytest.raises(InvalidInputError, match="a job of a batch cannot have"):
            album.pool.enqueue_many("resize", [job], partition_key="a", then=after)


def test_no_application_chooses_an_id_of_a_batch(album: Album) -> None:
    with pytest.raises(InvalidInputError, match="job_id="):
        album.pool.enqueue("resize", {"photo": 1}, partition_key="a", job_id="AAA~1")


def test_the_asyncio_twin(album: Album) -> None:
    async def enqueue() -> str:
        pool = album.pool.asyncio()
        rows = [{"photo": n} for n in range(3)]
        then = After("publish", {"album": 7})
        results = await pool.enqueue_many("resize", rows, partition_key="album-7", then=then)
        batch = results.batch
        assert (await batch.status()).total == 3
        assert [each.end async for each in batch.results()] == [EndOf.OPEN] * 3
        assert (await batch.continuation()).job_id == batch.name
        assert (await batch.tree()).inner == ()
        return str(batch.name)

    async def after(name: str) -> BatchState:
        pool = album.pool.asyncio()
        return (await pool.batch(name).wait(timeout_s=1)).state

    name = asyncio.run(enqueue())
    run_jobs(album.pool)

    assert asyncio.run(after(name)) is BatchState.FIRED
    assert album.published == [(7, ["small-0", "small-1", "small-2"])]


def test_what_continues_nothing_has_no_results(album: Album) -> None:
    album.pool.enqueue("publish", {"album": 1}, partition_key="a")

    report = run_jobs(album.pool)

    assert [type(e.exception) for e in report.errors] == [InvalidInputError]


def test_an_unknown_batch_is_told(album: Album) -> None:
    assert album.pool.batch("AAbbbbbbbbbbbb").status().state is BatchState.UNKNOWN
    with pytest.raises(InvalidInputError, match="there is no batch"):
        list(album.pool.batch("AAbbbbbbbbbbbb").results())
    with pytest.raises(InvalidInputError, match="is not a batch"):
        album.pool.batch("nonsense")


def test_an_unknown_batch_is_told_after_an_outage_too(album: Album) -> None:
    plain, calls = album.pool.server.run, count()

    def away_at_first(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        if next(calls) == 0:
            raise UnavailableError("no reply")
        return plain(key, verbs)

    album.pool.server.run = away_at_first  # type: ignore[method-assign]
    with pytest.raises(InvalidInputError, match="there is no batch"):
        list(album.pool.batch("AAbbbbbbbbbbbb").results())
    assert next(calls) == 2


def test_a_job_of_a_batch_is_found_by_its_id_alone(album: Album) -> None:
    results = album.enqueue(2)
    pool: QueuePool = album.pool

    assert pool.status(results[1].job_id).state is JobState.READY
    assert results[1].job.status().task == "resize"
