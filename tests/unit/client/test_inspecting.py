"""`pool.inspect`: jobs, errors and the dead, in all partitions and pools; sync and asyncio."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queuepool import InvalidInputError, JobId, JobState, PermanentError, Registry
from queuepool.client import changing, finding, walking
from queuepool.client.editing import UnchangeableJobError
from queuepool.client.effects import Steps
from queuepool.models.finding import JobFilter
from queuepool.models.groups import Best, GroupLoad, GroupOrder
from queuepool.testing import MemoryPool, run_jobs
from queuepool.testing.clock import FakeClock
from queuepool.verbs import Verb


@pytest.fixture
def registry() -> Registry:
    made = Registry()

    @made.task
    def breaks(why: str) -> None:
        raise PermanentError(why)

    @made.task(pool="video")
    def encode(why: str) -> None:
        raise PermanentError(why)

    @made.task
    def retried() -> None:
        raise ValueError("again")

    return made


@pytest.fixture
def pool(registry: Registry) -> MemoryPool:
    return MemoryPool(3, registry=registry, clock=FakeClock(time.time()))


def die(pool: MemoryPool, count: int, task: str = "breaks", **options: Any) -> list[JobId]:
    """Let jobs die one after the other, a second apart, in several partitions."""
    ids = []
    for n in range(count):
        payload = {"why": f"row {n}"}
        ids.append(pool.enqueue(task, payload, partition_key=f"k{n}", **options).job_id)
        run_jobs(pool)
        pool.clock.advance(1)
    return ids


def trips(pool: MemoryPool, steps: Steps[Any]) -> int:
    """Return in how many round trips something is found out."""
    asked = []

    def counted() -> Steps[None]:
        reply: Any = None
        with suppress(StopIteration):
            while True:
                asked.append(steps.send(reply))
                reply = yield asked[-1]

    pool.carry_out(counted())
    return len(asked)


def test_many_partitions_are_asked_at_once(registry: Registry) -> None:
    pool = MemoryPool(200, registry=registry)
    for n in range(20):
        pool.enqueue("breaks", {"why": f"row {n}"}, partition_key=f"k{n}")
        pool.enqueue("breaks", {"why": f"row {n}"}, partition_key=f"k{n}", delay_s=60)
    run_jobs(pool)
    pool.enqueue("breaks", {"why": "now"}, partition_key="k7")
    config = pool.config

    def look(state: JobState) -> Steps[list[Any]]:
        walk = yield from walking.walk(config, JobFilter(state=state), partition=None, pool=None)
        return (yield from walk.page(200))

    assert trips(pool, finding.errors(config, partition=None, sample=100)) < 12
    assert trips(pool, finding.digest(config, partition=None, sample=100)) < 15
    assert trips(pool, finding.running(config, partition=None, most=100)) < 20
    assert trips(pool, look(JobState.READY)) < 25
    assert sum(one.dead for one in pool.inspect.errors()) == pool.inspect.digest().dead == 20


def test_dead_jobs_of_all_partitions_come_in_the_order_of_time(pool: MemoryPool) -> None:
    ids = die(pool, 20)

    assert len({pool.status(job_id).partition for job_id in ids}) == 3
    assert [job.job_id for job in pool.inspect.find("dead")] == ids[::-1]
    assert [job.job_id for job in pool.inspect.find("dead", newest=False)] == ids


def test_a_task_is_named_by_its_function_too(pool: MemoryPool, registry: Registry) -> None:
    @registry.task
    def fails() -> None:
        raise PermanentError("always")

    die(pool, 2)
    pool.enqueue(fails, {}, partition_key="k")
    run_jobs(pool)

    assert [job.task for job in pool.inspect.find("dead", task=fails)] == ["fails"]
    assert pool.inspect.discard(task=fails).changed == 1
    assert pool.inspect.count("dead") == 2


def test_jobs_are_found_in_every_pool(pool: MemoryPool) -> None:
    [video] = die(pool, 1, "encode")
    die(pool, 2)

    [found] = pool.inspect.find(JobState.DEAD, pool="video")
    assert (found.job_id, found.pool, found.task) == (video, "video", "encode")
    assert pool.inspect.count("dead") == 3
    assert pool.inspect.replay(task="encode").changed == 1
    assert pool.inspect.count("dead") == 2
    assert pool.inspect.count("ready", pool="video") == 1


def test_filters_of_the_library_are_those_of_servers_and_its_own(pool: MemoryPool) -> None:
    for tenant in ("acme", "other"):
        pool.enqueue("breaks", {"why": "Zürich 7"}, partition_key="a", tenant=tenant)
    run_jobs(pool)
    die(pool, 3)
    inspect = pool.inspect

    assert inspect.count("dead", tenant="acme") == 1
    assert [job.tenant for job in inspect.find("dead", partition_key="a", tenant="other")] == [
        "other"
    ]
    assert inspect.count("dead", error="zürich") == 2
    assert inspect.count("dead", error="PermanentError: ROW") == 3
    assert inspect.count("dead", task="breaks", error="nothing of this") == 0
    assert inspect.count("dead", since=timedelta(days=1), until=timedelta(hours=1)) == 0
    assert inspect.count("dead", since=datetime(2020, 1, 1, tzinfo=UTC)) == 5


def test_errors_are_counted_by_fingerprint_over_all_partitions(pool: MemoryPool) -> None:
    ids = die(pool, 7)
    pool.enqueue("retried", {}, partition_key="r")
    run_jobs(pool)

    dead, retrying = pool.inspect.errors()

    assert (dead.type, dead.dead, dead.retrying, dead.is_exact) == ("PermanentError", 7, 0, True)
    assert (dead.example, dead.task, dead.reason) == (ids[-1], "breaks", "permanent")
    assert dead.first_ms is not None
    assert dead.last_ms is not None
    assert dead.last_ms - dead.first_ms == pytest.approx(6000, abs=10)
    assert (retrying.type, retrying.dead, retrying.retrying) == ("ValueError", 0, 1)
    assert pool.inspect.count("dead", error=dead.fingerprint) == 7
    [about] = pool.inspect.errors(sample=3)[:1]
    assert (about.fingerprint, about.is_exact) == (dead.fingerprint, False)
    assert 4 <= about.dead <= 14


def test_the_digest_tells_of_tasks_and_reasons(pool: MemoryPool) -> None:
    assert pool.inspect.digest().dead == 0
    die(pool, 3)
    die(pool, 2, "encode")

    digest = pool.inspect.digest()

    assert (digest.dead, digest.is_exact) == (5, True)
    assert digest.tasks == (("breaks", 3), ("encode", 2))
    assert digest.reasons == (("permanent", 5),)
    assert digest.oldest_ms is not None
    assert digest.newest_ms is not None
    assert digest.newest_ms > digest.oldest_ms
    assert [one.dead for one in digest.errors] == [3, 2]


def test_a_dry_run_changes_nothing_and_a_replay_is_bounded(pool: MemoryPool) -> None:
    ids = die(pool, 6)

    assert pool.inspect.replay(dry_run=True).matched == 6
    assert pool.inspect.discard(dry_run=True, most=2).matched == 2
    assert pool.inspect.count("dead") == 6
    done = pool.inspect.replay(most=2)
    assert (done.matched, done.changed, done.kept_out) == (2, 2, ())
    assert pool.status(ids[0]).state is JobState.READY, "in the order of their deaths"
    assert pool.inspect.replay(most=1, newest=True).changed == 1
    assert pool.status(ids[-1]).state is JobState.READY
    assert pool.inspect.discard(task="breaks").changed == 3
    assert pool.inspect.count("dead") == 0


def test_a_rate_spreads_a_replay_over_time(
    pool: MemoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(pool, 5)
    paused: list[float] = []
    network = pool.inspect._network
    answer = network._answer

    def waiting(effect: Any) -> Any:
        if hasattr(effect, "seconds"):
            paused.append(effect.seconds)
            return None
        return answer(effect)

    monkeypatch.setattr(network, "_answer", waiting)
    assert pool.inspect.replay(rate=2).changed == 5
    assert paused == [1.0, 1.0]  # between the pages, and none after the last


@pytest.mark.parametrize("how", [{}, {"newest": True}, {"error": "row"}, {"rate": 10_000.0}])
def test_a_replay_ends_although_its_jobs_die_again_at_once(
    pool: MemoryPool, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    die(pool, 10)
    monkeypatch.setattr("queuepool.client.walking.PAGE", 4)
    monkeypatch.setattr("queuepool.client.finding.PAGE", 4)
    plain, replays = pool.server.run, 0

    def run(key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        nonlocal replays
        replies = plain(key, verbs)
        if verbs[0].script == "replay":
            replays += 1
            assert replays < 100, "it replays the same jobs over and over"
            pool.server.run = plain  # type: ignore[method-assign]
            pool.clock.advance(0.01)
            run_jobs(pool)
            pool.server.run = run  # type: ignore[method-assign]
        return replies

    pool.server.run = run  # type: ignore[method-assign]
    done = pool.inspect.replay(**how)

    assert (done.matched, done.changed) == (10, 10)
    assert pool.inspect.count("dead") == 10


def test_a_change_that_has_no_time_left_says_how_to_go_on(pool: MemoryPool) -> None:
    die(pool, 9)
    where, options = JobFilter(state=JobState.DEAD, newest=False), dict[str, Any](most=None, rate=2)
    asked: list[float] = []

    def has_time(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) < 3

    steps = changing.change(
        pool.config, where, changing.discard, partition=None, pool=None, dry_run=False,
        has_time=has_time, **options,
    )  # fmt: skip
    done = pool.carry_out(steps)

    assert (done.matched, done.changed, done.more, asked) == (4, 4, True, [0, 1, 1])
    pool.clock.advance(1)
    die(pool, 1)
    until = datetime.fromtimestamp((done.until_ms or 0) / 1000, UTC)
    rest = pool.inspect.discard(until=until)
    assert (rest.changed, rest.more, pool.inspect.count("dead")) == (5, False, 1)


def test_a_change_looks_for_the_few_that_match_in_bounded_parts(
    pool: MemoryPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "_LOOK", 2)
    ids = die(pool, 12)

    assert pool.inspect.replay(error="row 11").changed == 1  # after pages that found nothing
    assert pool.inspect.discard(error="row 10", newest=True).changed == 1
    assert len(list(pool.inspect.find("dead"))) == len(ids) - 2


def test_a_rate_pauses_between_jobs_and_not_after_the_last(pool: MemoryPool) -> None:
    die(pool, 1)
    begin = time.monotonic()

    assert pool.inspect.replay(most=1, rate=0.001).changed == 1
    assert time.monotonic() - begin < 60


def test_what_a_killed_discard_has_left_the_next_one_takes(pool: MemoryPool) -> None:
    die(pool, 50)
    plain = pool.server.run
    for calls in range(1, 12):
        left = iter(range(calls))

        def run(key: bytes, verbs: Sequence[Verb[Any]], left: Any = left) -> list[Any]:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return plain(key, verbs)

        pool.server.run = run  # type: ignore[method-assign]
        with suppress(KeyboardInterrupt):
            pool.inspect.discard(rate=10_000.0, most=3)
    pool.server.run = plain  # type: ignore[method-assign]

    before = pool.inspect.count("dead")
    assert 0 < before < 50
    done = pool.inspect.discard()
    assert (done.matched, done.changed, pool.inspect.count("dead")) == (before, before, 0)


def test_a_replay_names_jobs_that_stay_dead(pool: MemoryPool) -> None:
    dead = pool.enqueue("breaks", {"why": "x"}, partition_key="k", unique="u").job_id
    run_jobs(pool)
    pool.enqueue("breaks", {"why": "x"}, partition_key="k", unique="u", delay_s=60)

    done = pool.inspect.replay()

    assert (done.matched, done.changed, done.kept_out) == (1, 0, (dead,))


def test_an_empty_error_does_not_stand_for_all_errors(pool: MemoryPool) -> None:
    die(pool, 2)

    with pytest.raises(InvalidInputError, match="error=''"):
        pool.inspect.discard(error="")

    assert pool.inspect.count("dead") == 2


def test_odd_questions_are_refused(pool: MemoryPool) -> None:
    with pytest.raises(InvalidInputError, match="state='done': use ready"):
        pool.inspect.count("done")
    with pytest.raises(InvalidInputError, match="since="):
        pool.inspect.count("dead", since=datetime(2020, 1, 1))  # noqa: DTZ001
    with pytest.raises(InvalidInputError, match="rate=0"):
        pool.inspect.replay(rate=0)
    with pytest.raises(InvalidInputError, match="rate='50/s'"):
        pool.inspect.replay(rate="50/s")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="most=-1"):
        pool.inspect.discard(most=-1, dry_run=True)
    with pytest.raises(InvalidInputError, match=r"most=1\.5"):
        pool.inspect.discard(most=1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="error=5"):
        pool.inspect.count("dead", error=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'tasks'"):
        pool.inspect.count("dead", tasks="x")  # type: ignore[call-arg]


def test_asyncio_has_the_same_answers(pool: MemoryPool) -> None:
    ids = die(pool, 5)

    async def ask() -> None:
        twin = pool.asyncio().inspect
        assert [job.job_id async for job in twin.find("dead")] == ids[::-1]
        assert await twin.count("dead", task="breaks") == 5
        assert await twin.running() == []
        assert [one.dead for one in await twin.errors()] == [5]
        assert (await twin.digest()).dead == 5
        assert (await twin.discard(most=1)).changed == 1
        assert (await twin.replay(most=1)).changed == 1

    asyncio.run(ask())
    assert pool.inspect.count("dead") == 3


def test_a_dead_job_is_edited_and_run_again(pool: MemoryPool, registry: Registry) -> None:
    seen: list[str] = []

    @registry.task(name="greets")
    def greet(name: str) -> None:
        if not name:
            raise PermanentError("nobody")
        seen.append(name)

    job_id = pool.enqueue("greets", {"name": ""}, partition_key="k").job_id
    run_jobs(pool)

    with pytest.raises(InvalidInputError, match="nane"):
        pool.inspect.edit(job_id, {"nane": "Ada"})
    assert pool.inspect.edit(job_id, {"name": "Ada"}) is JobState.DEAD
    assert pool.status(job_id).state is JobState.DEAD
    assert pool.inspect.run(job_id, partition_key="k") is JobState.DEAD
    run_jobs(pool)
    assert seen == ["Ada"]
    with pytest.raises(UnchangeableJobError, match="it has ended"):
        pool.inspect.run(job_id)
    with pytest.raises(UnchangeableJobError, match="it has ended"):
        pool.inspect.edit(job_id, {})


def test_a_delayed_job_of_a_pool_is_run_now(pool: MemoryPool) -> None:
    job_id = pool.enqueue("encode", {"why": "x"}, partition_key="k", delay_s=3600).job_id

    async def hasten() -> JobState:
        twin = pool.asyncio().inspect
        assert await twin.edit(job_id, {"why": "y"}) is JobState.DELAYED
        return await twin.run(job_id)

    assert asyncio.run(hasten()) is JobState.DELAYED
    run_jobs(pool)
    [dead] = pool.inspect.find("dead")
    assert (dead.job_id, dead.error and dead.error.message) == (job_id, "y")
    assert pool.inspect.run(job_id) is JobState.DEAD
    assert pool.inspect.run(job_id) is JobState.READY


def test_a_job_whose_key_another_holds_cannot_run(pool: MemoryPool) -> None:
    job_id = pool.enqueue("breaks", {"why": "x"}, partition_key="k", unique="u").job_id
    run_jobs(pool)
    pool.enqueue("breaks", {"why": "x"}, partition_key="k", unique="u", delay_s=60)

    with pytest.raises(UnchangeableJobError, match="unique key"):
        pool.inspect.run(job_id)


def fill_groups(pool: MemoryPool) -> None:
    """Enqueue the groups k1 to k9, a second apart, k9 with the most jobs; one also for videos."""
    for n in range(1, 10):
        tenant = "acme" if n == 5 else None
        pool.enqueue_many("retried", [{}] * n, partition_key=f"k{n}", tenant=tenant)
        pool.clock.advance(1)
    pool.enqueue_many("encode", [{"why": ""}] * 20, partition_key="k3")


def test_the_largest_and_the_oldest_groups_of_all_partitions_come_first(pool: MemoryPool) -> None:
    fill_groups(pool)

    sizes = [(one.left, one.pool) for one in pool.inspect.groups(order="size", limit=4)]
    ages = pool.inspect.groups(order="age", limit=3)

    assert sizes == [(20, "video"), (9, None), (8, None), (7, None)]
    assert [one.group for one in ages] == [b"k1", b"k2", b"k3"]
    assert len({one.partition for one in pool.inspect.groups(limit=100)}) == 3
    assert [one.left for one in pool.inspect.groups(limit=1, pool="video")] == [20]
    [acme] = [one for one in pool.inspect.groups() if one.tenant]
    assert (acme.tenant, acme.left, acme.total, acme.held_ms) == ("acme", 5, 5, None)


def test_few_groups_are_kept_in_memory_however_many_there_are() -> None:
    def load(n: int) -> GroupLoad:
        left, name = n * 7919 % 10_007, b"g%d" % n
        return GroupLoad(group=name, partition=0, total=left, left=left, created_ms=n + 1)

    for order in GroupOrder:
        best = Best(order, 10)
        for n in range(10_007):
            best.add([load(n)])
            assert len(best) <= 20
        expected = sorted(map(load, range(10_007)), key=lambda one: -one.left)[:10]
        first = best.first()
        assert first == (expected if order is GroupOrder.SIZE else [load(n) for n in range(10)])
        assert best.least > 0


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda inspect: inspect.count("dead", partition="x"), "partition='x'"),
        (lambda inspect: list(inspect.find("dead", partition=True)), "partition=True"),
        (lambda inspect: list(inspect.find("dead", newest="x")), "newest='x'"),
        (lambda inspect: inspect.errors(sample=0), "sample=0"),
        (lambda inspect: inspect.errors(sample="x"), "sample='x'"),
        (lambda inspect: inspect.digest(sample=-1), "sample=-1"),
        (lambda inspect: inspect.running(most=-1), "most=-1"),
        (lambda inspect: inspect.history("a" * 22, most=0), "most=0"),
    ],
)
def test_a_wrong_value_is_named(pool: MemoryPool, ask: Callable[[Any], object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        ask(pool.inspect)


@pytest.mark.parametrize("options", [{"order": "name"}, {"limit": 0}, {"limit": 10_001}])
def test_an_order_or_a_limit_of_no_groups_is_refused(
    pool: MemoryPool, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        pool.inspect.groups(**options)


def test_groups_are_the_same_for_asyncio(pool: MemoryPool) -> None:
    fill_groups(pool)

    found = asyncio.run(pool.asyncio().inspect.groups(order="age", limit=2))

    assert found == pool.inspect.groups(order="age", limit=2)
