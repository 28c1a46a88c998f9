"""Users' handlers under faults: each verdict, on handlers that deserve it and that do not."""

import asyncio
import doctest
import gc
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import queuepool.testing.faults
from queuepool import After, InvalidInputError, JobCancelled, JobContext, Registry, RetryLater
from queuepool.testing import MemoryPool
from queuepool.testing.faults import FaultKind, Ledger, Scenario, Verdict, try_faults

pytestmark = pytest.mark.thorough


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler waits for the other one however long the machine stops that."""
    monkeypatch.setattr("queuepool.testing.faults.trial._STALL_S", 60.0)


class World:
    """What handlers do something to: rows in order of their effect, and who has done what."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.keys: dict[str, Any] = {}


@pytest.fixture
def world() -> World:
    return World()


def scenario_of(
    world: World,
    task: str,
    payloads: Iterable[dict[str, Any]],
    read: Callable[[], Any],
    **more: Any,
) -> Scenario:
    """Return a scenario that enqueues these jobs in an Reset all state."""
    rows = [*payloads]

    def scenario(pool: MemoryPool) -> Callable[[], Any]:
        world.rows.clear()
        world.keys.clear()
        if more.get("serial"):
            pool.group("k").configure(serial=True, create=True)
        for row in rows:
            pool.enqueue(task, row, partition_key="k")
        return read

    return scenario


def verdicts(ledger: Ledger) -> set[Verdict]:
    return {finding.verdict for finding in ledger.findings}


def kinds(ledger: Ledger) -> set[FaultKind]:
    return {finding.fault.kind for finding in ledger.findings}


NAMES = [{"to": "ada"}, {"to": "bob"}]


def test_the_documented_example_is_true() -> None:
    result = doctest.testmod(queuepool.testing.faults)

    assert result.attempted > 5
    assert result.failed == 0


def test_an_effect_that_is_repeated_is_found_at_the_line_after_it(
    registry: Registry, world: World
) -> None:
    @registry.task(timeout_s=5)
    def mail(to: str) -> None:
        world.rows.append(to)
        world.keys[to] = True

    scenario = scenario_of(world, "mail", NAMES, lambda: Counter(world.rows))

    ledger = try_faults(scenario, registry=registry)

    assert verdicts(ledger) == {Verdict.TWICE}
    assert kinds(ledger) >= {FaultKind.KILL, FaultKind.TWICE, FaultKind.TIMEOUT}
    killed = [f for f in ledger.findings if f.fault.kind is FaultKind.KILL]
    line = mail.__wrapped__.__code__.co_firstlineno + 3
    places = {finding.fault.place.line for finding in killed}
    assert places == {f"test_faults.py:{line}", "its last line"}
    assert killed[0].detail == "'ada' 2 times instead of 1"
    with pytest.raises(AssertionError, match=r"twice  +[1-9]"):
        ledger.check()


def test_an_effect_under_the_id_of_its_job_passes_every_fault(
    registry: Registry, world: World
) -> None:
    @registry.task(timeout_s=5)
    def mail(ctx: JobContext, to: str) -> None:
        world.keys[ctx.job_id] = to

    scenario = scenario_of(world, "mail", NAMES, lambda: Counter(world.keys.values()))

    ledger = try_faults(scenario, registry=registry)

    ledger.check()
    assert set(ledger.tried) == set(FaultKind)
    assert (ledger.jobs, ledger.left_out) == (2, 0)
    assert all(count >= 2 for count in ledger.tried.values())


def test_a_sum_that_grows_with_each_run_is_not_idempotent(registry: Registry, world: World) -> None:
    @registry.task
    def pay_in(amount: int) -> None:
        world.keys["sum"] = world.keys.get("sum", 0) + amount

    scenario = scenario_of(world, "pay_in", [{"amount": 10}], lambda: world.keys)

    ledger = try_faults(scenario, kinds=["kill"], registry=registry)

    assert verdicts(ledger) == {Verdict.NOT_IDEMPOTENT}
    assert {f.detail for f in ledger.findings} == {"['sum']: 20 instead of 10"}


def test_a_handler_that_trips_over_its_own_traces_loses_the_job(
    registry: Registry, world: World
) -> None:
    @registry.task(max_attempts=2)
    def insert(to: str) -> None:
        if to in world.keys:
            raise ValueError(f"{to} exists")
        world.keys[to] = 1
        world.rows.append(to)

    scenario = scenario_of(world, "insert", NAMES[:1], lambda: world.rows)

    ledger = try_faults(scenario, kinds=["kill"], registry=registry)

    assert verdicts(ledger) == {Verdict.LOST}
    detail = "1 job of insert did not succeed: the last is dead: ValueError: ada exists"
    assert {f.detail for f in ledger.findings} == {detail}


def test_an_effect_that_a_repetition_skips_is_lost(registry: Registry, world: World) -> None:
    @registry.task
    def send(to: str) -> None:
        if to not in world.keys:
            world.keys[to] = 1  # marked before it is done
            world.rows.append(to)

    scenario = scenario_of(world, "send", NAMES, lambda: Counter(world.rows))

    ledger = try_faults(scenario, kinds=["kill"], registry=registry)

    assert verdicts(ledger) == {Verdict.LOST}
    assert ledger.findings[0].detail == "'ada' 0 times instead of 1"


@pytest.mark.parametrize("serial", [True, False])
def test_only_a_serial_group_keeps_the_order_of_a_log(
    registry: Registry, world: World, serial: bool
) -> None:
    @registry.task(timeout_s=5)
    def log(ctx: JobContext, to: str) -> None:
        if world.keys.get(ctx.job_id) is None:
            world.rows += [world.keys.setdefault(ctx.job_id, to)]

    scenario = scenario_of(world, "log", NAMES, lambda: world.rows, serial=serial)

    ledger = try_faults(scenario, kinds=["timeout"], registry=registry)

    assert verdicts(ledger) == (set() if serial else {Verdict.OUT_OF_ORDER})
    assert ledger.tried[FaultKind.TIMEOUT] >= 4


def test_jobs_that_a_handler_enqueues_again_are_found(registry: Registry, world: World) -> None:
    pools: list[MemoryPool] = []

    @registry.task
    def parent(safe: bool) -> None:
        job_id = "child-1" if safe else None
        pools[-1].enqueue("child", {}, partition_key="k", job_id=job_id)

    @registry.task
    def child() -> None: ...

    def scenario(pool: MemoryPool, safe: bool) -> Callable[[], Any]:
        pools.append(pool)
        pool.enqueue("parent", {"safe": safe}, partition_key="k")
        return lambda: None

    bad = try_faults(lambda pool: scenario(pool, False), kinds=["kill"], registry=registry)
    good = try_faults(lambda pool: scenario(pool, True), kinds=["kill"], registry=registry)

    assert {f.detail for f in bad.findings} == {"1 more of the jobs of child were enqueued"}
    assert verdicts(bad) == {Verdict.TWICE}
    assert good.ok


def test_two_consumers_in_one_job_interleave(registry: Registry, world: World) -> None:
    @registry.task
    def add(amount: int) -> None:
        if "done" in world.keys:
            return
        before = world.keys.get("sum", 0)
        world.keys["sum"] = before + amount
        world.keys["done"] = True

    scenario = scenario_of(world, "add", [{"amount": 1}], lambda: world.keys)

    ledger = try_faults(scenario, kinds=["twice"], registry=registry)

    assert {(f.verdict, f.detail) for f in ledger.findings} == {
        (Verdict.NOT_IDEMPOTENT, "['sum']: 2 instead of 1")
    }
    steps = [finding.fault.place.step for finding in ledger.findings]
    assert steps == [1, 3]  # not between reading and writing, where both write the same


def test_a_stalled_handler_that_blocks_the_other_goes_on(
    registry: Registry, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuepool.testing.faults.trial._STALL_S", 0.05)
    lock = threading.Lock()

    @registry.task
    def guarded(ctx: JobContext, to: str) -> None:
        with lock:
            world.keys[ctx.job_id] = to

    scenario = scenario_of(world, "guarded", NAMES[:1], lambda: [*world.keys.values()])

    assert try_faults(scenario, kinds=["twice"], registry=registry).ok


def test_a_handler_that_heeds_a_late_cancel_may_leave_its_job_undone(
    registry: Registry, world: World
) -> None:
    @registry.task
    def careful(ctx: JobContext, to: str) -> None:
        if ctx.cancel_requested:
            raise JobCancelled
        world.rows.append(to)

    scenario = scenario_of(world, "careful", NAMES, lambda: world.rows)

    ledger = try_faults(scenario, kinds=["cancel"], registry=registry)

    assert ledger.ok
    assert ledger.tried[FaultKind.CANCEL] == 6


def test_coroutines_meet_faults_at_their_lines_too(registry: Registry, world: World) -> None:
    @registry.task(timeout_s=5)
    async def fetch(to: str) -> None:
        world.rows.append(to)
        await asyncio.sleep(0)
        world.keys[to] = 1

    scenario = scenario_of(world, "fetch", NAMES[:1], lambda: Counter(world.rows))

    ledger = try_faults(scenario, registry=registry)

    assert verdicts(ledger) == {Verdict.TWICE}
    assert kinds(ledger) >= {FaultKind.KILL, FaultKind.TWICE, FaultKind.TIMEOUT}


def test_a_continuation_runs_once_whatever_happens_to_its_jobs(
    registry: Registry, world: World
) -> None:
    @registry.task(timeout_s=5)
    def part(n: int) -> int:
        return n

    @registry.task
    def whole(ctx: JobContext) -> None:
        world.keys[ctx.job_id] = sorted(each.result for each in ctx.results())

    def scenario(pool: MemoryPool) -> Callable[[], Any]:
        world.keys.clear()
        rows = [{"n": n} for n in range(3)]
        pool.enqueue_many("part", rows, partition_key="k", then=After("whole"))
        return lambda: [*world.keys.values()]

    ledger = try_faults(
        scenario, kinds=["kill", "twice", "timeout"], registry=registry, partitions=2
    )

    ledger.check()
    assert sum(ledger.tried.values()) > 20


def test_what_a_finding_names_can_be_tried_alone(registry: Registry, world: World) -> None:
    @registry.task
    def mail(to: str) -> None:
        world.rows.append(to)

    scenario = scenario_of(world, "mail", NAMES, lambda: Counter(world.rows))
    found = try_faults(scenario, kinds=["kill"], registry=registry).findings

    again = try_faults(scenario, registry=registry, only=[found[0].fault])

    assert again.findings == found[:1]
    assert again.tried == {FaultKind.KILL: 1}


def test_runs_are_bounded_and_different_lines_come_first(registry: Registry, world: World) -> None:
    @registry.task
    def slow(to: str) -> None:
        for _ in range(50):
            world.keys[to] = 1
        world.keys["end"] = 1

    scenario = scenario_of(world, "slow", NAMES, lambda: world.keys)

    ledger = try_faults(scenario, kinds=["kill"], most=10, registry=registry)

    assert ledger.tried == {FaultKind.KILL: 10}
    assert ledger.left_out > 150
    assert f"{ledger.left_out} more faults were skipped" in str(ledger)


@pytest.mark.parametrize("frozen_before", [False, True])
def test_runs_collect_the_garbage_of_handlers_alone(
    registry: Registry, world: World, frozen_before: bool
) -> None:
    class Connection:
        def __init__(self, to: str) -> None:
            self.itself = self
            weakref.finalize(self, closed.append, to)

    closed, frozen = list[str](), list[int]()

    @registry.task
    def mail(to: str) -> None:
        frozen.append(gc.get_freeze_count())
        connection = Connection(to)
        world.keys[to] = 1
        del connection

    scenario = scenario_of(world, "mail", NAMES, lambda: world.keys)
    gc.unfreeze()  # tests/conftest.py has frozen what is collected
    if frozen_before:
        gc.freeze()
    try:
        ledger = try_faults(scenario, kinds=["kill"], registry=registry)

        assert bool(gc.get_freeze_count()) is frozen_before
    finally:
        gc.freeze()
    assert ledger.tried[FaultKind.KILL] > 4
    assert len(closed) > 4
    assert max(frozen) > 1000


def test_a_scenario_must_run_jobs_and_end_and_twice_in_the_same_way(
    registry: Registry, world: World
) -> None:
    @registry.task
    def mail(to: str) -> None:
        world.rows.append(to)

    @registry.task
    def later() -> None:
        raise RetryLater(5)

    def left_over(pool: MemoryPool) -> Callable[[], Any]:
        pool.enqueue("mail", {"to": "ada"}, partition_key="k")
        return lambda: world.rows

    def returns_none(pool: MemoryPool) -> Any:
        pool.enqueue("mail", {"to": "ada"}, partition_key="k")

    with pytest.raises(InvalidInputError, match="returned None: return a function that reads"):
        try_faults(returns_none, registry=registry)
    with pytest.raises(InvalidInputError, match="ran no job"):
        try_faults(lambda pool: lambda: None, registry=registry)
    with pytest.raises(InvalidInputError, match=r"never ends: .* of 'later'"):
        try_faults(scenario_of(world, "later", [{}], lambda: None), registry=registry)
    unregistered = r"task 'unknown', which is not registered \(known: .*\): import"
    with pytest.raises(InvalidInputError, match=unregistered):
        try_faults(scenario_of(world, "unknown", [{}], lambda: None), registry=registry)
    with pytest.raises(InvalidInputError, match=r"ended differently.*Reset all state"):
        try_faults(left_over, registry=registry)


def test_the_tracing_of_a_debugger_is_given_back(registry: Registry, world: World) -> None:
    @registry.task
    def mail(ctx: JobContext, to: str) -> None:
        world.keys[ctx.job_id] = to
        if world.keys.setdefault("asked", 0) == 0:
            world.keys["asked"] = 1
            raise RetryLater(5)

    scenario = scenario_of(world, "mail", NAMES, lambda: len(world.keys))

    def trace(*_: Any) -> None: ...

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        ledger = try_faults(scenario, kinds=["kill"], registry=registry)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert ledger.ok
