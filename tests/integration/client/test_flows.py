"""Flows as an application uses them: pools in memory, and run_jobs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queuepool import (
    After,
    Flow,
    FlowState,
    InvalidInputError,
    Job,
    JobContext,
    PermanentError,
    Registry,
    WaitTimeoutError,
)
from queuepool.testing import FakeClock, MemoryPool, RunReport, run_jobs


class Night:
    """Tasks of a nightly flow, and what they saw."""

    def __init__(self) -> None:
        self.registry, self.clock = Registry(), FakeClock()
        self.pool = MemoryPool(4, registry=self.registry, clock=self.clock)
        self.failing: set[str] = set()
        self.runs: list[str] = []
        task = self.registry.task

        @task(max_attempts=1)
        def work(ctx: JobContext, name: str) -> str:
            self.runs.append(name)
            if name in self.failing:
                raise PermanentError(f"{name} is broken")
            seen = ctx.results() if ctx.continues else iter(())
            return "+".join([name, *(str(each.result or each.end) for each in seen)])

        @task(max_attempts=2)
        def spread(ctx: JobContext, jobs: int) -> str:
            rows = [{"name": f"more{n}"} for n in range(jobs)]
            self.pool.enqueue_many("work", rows, partition_key="spread", into=ctx.batch)
            if ctx.attempt == 1:
                raise RuntimeError("after it has added its jobs")
            return "spread"

    def flow(self, **steps: str | tuple[str, ...]) -> Flow:
        """Return a flow of one job a step; each step with those that it follows."""
        flow = Flow("nightly", flow_id="monday")
        for name, after in steps.items():
            flow.add("work", {"name": name}, name=name, after=after, partition_key=name)
        return flow

    def run(self) -> RunReport:
        return run_jobs(self.pool, jitter=0)


@pytest.fixture
def night() -> Night:
    return Night()


DIAMOND: dict[str, Any] = {"a": (), "b": "a", "c": "a", "d": ("b", "c")}


def test_a_diamond_runs_each_step_once_after_those_it_follows(night: Night) -> None:
    handle = night.pool.enqueue_flow(night.flow(**DIAMOND))
    assert [step.state for step in handle.status().steps] == ["running", *["waiting"] * 3]

    assert night.run().done == 4

    assert (night.runs[0], sorted(night.runs[1:3]), night.runs[3:]) == ("a", ["b", "c"], ["d"])
    [last] = handle.results("d")
    assert last.result == "d+b+a+c+a"
    status = handle.status()
    assert (status.state, status.enqueued, status.step("d").after) == ("done", True, ("b", "c"))
    assert [(step.total, step.done) for step in status.steps] == [(1, 1)] * 4


def test_a_chain_passes_results_on(night: Night) -> None:
    handle = night.pool.enqueue_flow(night.flow(a=(), b="a", c="b"))
    night.run()

    assert [each.result for each in handle.results("c")] == ["c+b+a"]


def test_steps_of_many_jobs_fan_out_and_in(night: Night) -> None:
    rows = [{"name": f"in{n}"} for n in range(300)]
    more = [{"name": f"out{n}"} for n in range(5)]
    flow = Flow("wide", partition_key=lambda row: row["name"])
    flow.add("work", each=rows, name="first").add("work", each=more, name="then", after="first")
    flow.add("work", {"name": "last"}, name="last", after=["then"])

    handle = night.pool.enqueue_flow(flow)
    night.run()

    assert [each.result for each in handle.results("first")] == [f"in{n}" for n in range(300)]
    seen = "+".join(f"in{n}" for n in range(300))
    assert [each.result for each in handle.results("then")] == [f"out{n}+{seen}" for n in range(5)]
    assert len(night.runs) == 306


def test_a_step_grows_from_inside(night: Night) -> None:
    flow = Flow("grows", partition_key="k").add("spread", {"jobs": 3}, name="a")
    flow.add("work", {"name": "b"}, name="b", after="a")
    handle = night.pool.enqueue_flow(flow)
    night.run()
    night.clock.advance(600)
    night.run()

    assert [each.result for each in handle.results("b")] == ["b+spread+more0+more1+more2"]
    assert handle.status().step("a").total == 4


@pytest.mark.parametrize("dead", ["before", "after"])
def test_a_step_grows_from_inside_when_its_dead_job_is_replayed(night: Night, dead: str) -> None:
    """It runs before its step has noted that it came back."""
    broken = [True]

    @night.registry.task(max_attempts=1)
    def growing(ctx: JobContext) -> str:
        for step in ("before", "after"):
            if broken and step == dead:
                raise PermanentError("broken")
            if step == "before":
                rows = [{"name": f"more{n}"} for n in range(3)]
                night.pool.enqueue_many("work", rows, partition_key="more", into=ctx.batch)
        return "grown"

    flow = Flow("grows", partition_key="k").add("growing", name="a", partition_key="other")
    flow.add("work", {"name": "b"}, name="b", after="a", on_failure="wait")
    handle = night.pool.enqueue_flow(flow)
    night.run()
    assert handle.status().step("a").state is FlowState.FAILED

    broken.clear()
    assert night.pool.inspect.replay().changed == 1
    night.run()

    assert [each.result for each in handle.results("b")] == ["b+grown+more0+more1+more2"]
    assert handle.status().state is FlowState.DONE


def test_a_flow_is_enqueued_once_by_its_id(night: Night) -> None:
    first = night.pool.enqueue_flow(night.flow(**DIAMOND))
    again = night.pool.enqueue_flow(night.flow(**DIAMOND))
    assert (night.run().done, again.name) == (4, first.name)

    night.pool.enqueue_flow(night.flow(**DIAMOND))

    assert night.run().done == 0
    with pytest.raises(InvalidInputError, match="enqueued before, with other steps"):
        night.pool.enqueue_flow(night.flow(a=(), b="a"))


def test_no_two_names_and_ids_are_one_flow(night: Night) -> None:
    for name, flow_id in (("a/b", "c"), ("a", "b/c"), ("a", "\nb/c"), ("a/b", "/c")):
        flow = Flow(name, flow_id=flow_id, partition_key="k")
        night.pool.enqueue_flow(flow.add("work", {"name": f"{name}, {flow_id}"}))

    night.run()

    assert night.runs == ["a/b, c", "a, b/c", "a, \nb/c", "a/b, /c"]


def test_a_job_of_a_step_has_its_own_tenant_and_key(night: Night) -> None:
    own = Job({"name": "x"}, task="work", tenant="acme", partition_key="own")
    flow = Flow("nightly", partition_key="k")
    flow.add("work", each=[own], name="first", tenant="other")
    flow.add("work", each=[own], name="second", after="first", tenant="other")
    flow.add(own, name="third", after="first", tenant="other", partition_key="step")
    night.pool.enqueue_flow(flow)
    then = After(own, partition_key="then", tenant="other")
    night.pool.enqueue_many("work", [{"name": "one"}], partition_key="k", then=then)

    assert night.pool.group("own", tenant="acme").status().total == 4
    assert night.pool.group("k").status().total == 1


def test_a_failed_step_fails_what_follows(night: Night) -> None:
    night.failing = {"b"}
    handle = night.pool.enqueue_flow(night.flow(**DIAMOND))
    night.run()

    states = {step.name: str(step.state) for step in handle.status().steps}
    assert states == {"a": "done", "b": "failed", "c": "done", "d": "failed"}
    assert handle.wait(timeout_s=1).state is FlowState.FAILED
    assert night.runs.count("d") == 0


@pytest.mark.parametrize("on_failure", ["partial", "wait"])
def test_what_follows_a_failed_step_may_run_or_wait(night: Night, on_failure: Any) -> None:
    night.failing = {"a"}
    flow = Flow("nightly", partition_key="k").add("work", {"name": "a"}, name="a")
    flow.add("work", {"name": "b"}, name="b", after="a", on_failure=on_failure)
    handle = night.pool.enqueue_flow(flow)
    night.run()
    assert night.runs == (["a", "b"] if on_failure == "partial" else ["a"])

    night.failing = set()
    night.clock.advance(1)
    night.pool.inspect.replay()
    night.run()

    assert night.runs == (["a", "b", "a"] if on_failure == "partial" else ["a", "a", "b"])
    expected = "b+dead" if on_failure == "partial" else "b+a"
    assert [each.result for each in handle.results("b")] == [expected]
    assert handle.status().state is FlowState.DONE


def test_a_retried_step_does_not_run_its_followers_twice(night: Night) -> None:
    flow = Flow("nightly", partition_key="k").add("spread", {"jobs": 0}, name="a")
    flow.add("work", {"name": "b"}, name="b", after="a")
    night.pool.enqueue_flow(flow)
    for _ in range(3):
        night.run()
        night.clock.advance(600)

    assert night.runs == ["b"]


def test_a_step_waits_until_its_deadline(night: Night) -> None:
    flow = Flow("late", partition_key="k", deadline_s=60).add("work", {"name": "a"}, name="a")
    flow.add("work", {"name": "b"}, name="b", after="a", on_deadline="partial")
    handle = night.pool.enqueue_flow(flow)
    night.pool.hold()
    with pytest.raises(WaitTimeoutError, match="2 of 2 steps have not ended"):
        handle.wait(timeout_s=0)
    night.clock.advance(61)
    night.run()
    night.pool.release()
    night.run()

    assert sorted(night.runs) == ["a", "b"]


def test_a_cancelled_flow_starts_nothing_more(night: Night) -> None:
    handle = night.pool.enqueue_flow(night.flow(**DIAMOND))
    other = night.pool.enqueue_flow(Flow("other", partition_key="a").add("work", {"name": "x"}))

    assert handle.cancel() == 4
    night.run()

    assert night.runs == ["x"]
    status = handle.status()
    assert {str(step.state) for step in status.steps} == {"cancelled"}
    assert (status.state, other.status().state) == (FlowState.CANCELLED, FlowState.DONE)
    assert handle.cancel() == 0


def test_a_flow_is_found_by_any_batch_of_it(night: Night) -> None:
    handle = night.pool.enqueue_flow(night.flow(a=(), b="a"))
    step = handle.status().step("b").batch

    assert night.pool.flow(step).status() == handle.status()
    assert len(night.pool.batch(handle.name).tree().inner) == 2
    with pytest.raises(InvalidInputError, match="has no step 'x': a, b"):
        list(handle.results("x"))
    night.run()
    assert night.pool.flow("AAbbbbbbbbbbbb").status().state is FlowState.UNKNOWN


def test_the_twin_for_asyncio(night: Night) -> None:
    async def main() -> tuple[Any, list[Any], int]:
        async with night.pool.asyncio() as pool:
            handle = await pool.enqueue_flow(night.flow(**DIAMOND))
            await asyncio.to_thread(night.run)
            results = [each.result async for each in handle.results("d")]
            assert await handle.wait(timeout_s=1) == await handle.status()
            return await handle.status(), results, await pool.flow(handle.name).cancel()

    status, results, cancelled = asyncio.run(main())

    assert (status.state, status.steps[3].state) == (FlowState.DONE, FlowState.DONE)
    assert (results, cancelled) == (["d+b+a+c+a"], 0)


# -- what is refused, before anything is written -------------------------------------------------


def _steps(**after: Any) -> Flow:
    flow = Flow("nightly", partition_key="k")
    for name, before in after.items():
        flow.add("work", {"name": name}, name=name, after=before)
    return flow


WRONG: list[tuple[Flow, str]] = [
    (_steps(a="b", b="c", c="a"), "'a' follows 'b' follows 'c' follows 'a'"),
    (_steps(a=(), b="b"), "'b' follows 'b'"),
    (_steps(a=(), b="c"), "follows 'c', which is not a step of flow 'nightly': a, b"),
    (_steps(a=(), b=("a", "a")), "follows a step twice"),
    (_steps(), "has 0 steps: use 1 to 200"),
    (_steps(a=(), **{f"b{n}": "a" for n in range(101)}), "101 jobs follow step 'a'; at most 100"),
    (_steps(**{f"b{n}": () for n in range(201)}), "has 201 steps"),
    (_steps(a=()).add("work", {"no": 1}, name="b", after="a"), "task 'work'"),
    (_steps(a=()).add("work", each=[{"name": "x"}, {"no": 1}], name="b"), "task 'work'"),
]


@pytest.mark.parametrize(("flow", "why"), WRONG, ids=[why for _flow, why in WRONG])
def test_a_wrong_flow_writes_nothing(night: Night, flow: Flow, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        night.pool.enqueue_flow(flow)

    for partition in night.pool.partitions():
        data = night.pool.server.data(partition.key)
        assert (data.jobs, data.batches) == ({}, {})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"name": ""}, "a step cannot be named ''"),
        ({"name": "a"}, "two steps are called 'a'"),
        ({"each": []}, "each is empty"),
        ({"each": 5}, "each=5: use a list"),
        ({"each": {"n": 1}}, "each={'n': 1}: use a list of payloads"),
        ({"after": 5}, "after=5: use a list of names of steps"),
        ({"each": [{}], "payload": {}}, "either a payload or each"),
        ({"each": [{}] * 101, "after": "a"}, "has 101 jobs that wait"),
        ({"on_failure": "wait"}, "on_failure is for a step that follows others"),
        ({"after": "a", "on_failure": "no"}, "on_failure='no'"),
        ({"after": "a", "deadline_s": 0}, "deadline_s=0"),
    ],
)
def test_a_wrong_step_is_refused_when_it_is_added(options: Any, why: str) -> None:
    flow = Flow("nightly", partition_key="k").add("work", {}, name="a")

    with pytest.raises(InvalidInputError, match=why):
        flow.add("work", **options)

    assert len(flow.steps) == 1


@pytest.mark.parametrize("after", [(), ("a",)])
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"each": [{"name": "x"}]}, "pass its task"),
        ({"payload": {"name": "x"}}, "omit the payload"),
    ],
)
def test_a_job_has_its_arguments(after: tuple[str, ...], options: Any, why: str) -> None:
    flow, job = Flow("nightly", partition_key="k").add("work", {}, name="a"), Job({}, task="work")

    with pytest.raises(InvalidInputError, match=f"a job already has its arguments: {why}"):
        flow.add(job, name="b", after=after, **options)
    with pytest.raises(InvalidInputError, match="After: a job already has its arguments"):
        After(job, {"name": "x"})


def test_what_is_no_flow_is_told(night: Night) -> None:
    with pytest.raises(InvalidInputError, match="'nightly' is not a Flow"):
        night.pool.enqueue_flow("nightly")  # type: ignore[arg-type]


def test_a_step_needs_a_key() -> None:
    with pytest.raises(InvalidInputError, match="step 'work' needs a partition_key"):
        Flow("nightly").add("work")
    with pytest.raises(InvalidInputError, match="flow_id=''"):
        Flow("nightly", flow_id="")
