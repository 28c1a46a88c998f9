"""The list of batches: those of all partitions and pools in one order, read in few calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from queuepool import After, Flow, Registry
from queuepool.client.flows.listing import listed
from queuepool.testing import FakeClock, MemoryPool
from queuepool.verbs import Verb

PARTITIONS = 8


class Many:
    """A pool with batches in all partitions. calls: how many batches each asked for."""

    def __init__(self) -> None:
        self.calls = list[list[int]]()
        self.pool = MemoryPool(PARTITIONS, registry=Registry(), clock=FakeClock())
        self._plain = self.pool.server.run_many
        self.pool.server.run_many = self._run_many  # type: ignore[method-assign]

    def _run_many(self, calls: Sequence[tuple[bytes, Verb[Any]]]) -> list[Any]:
        asked = [int(verb.args[1]) for _key, verb in calls if verb.script == "batches"]
        self.calls += [asked] if asked else []
        return self._plain(calls)

    def batch(self, deadline_s: float, key: str, pool: str | None = None) -> str:
        then = After("sum", {"n": 0}, deadline_s=deadline_s, pool=pool)
        rows = [{"n": 1}]
        return str(self.pool.enqueue_many("sum", rows, partition_key=key, then=then).batch.name)

    def listed(self, most: int) -> tuple[list[str], int]:
        found, more = self.pool.carry_out(listed(self.pool.config, most))
        return [line.name for line in found], more


@pytest.fixture
def many() -> Many:
    return Many()


@pytest.mark.parametrize("most", [1, 7, 40, 200])
def test_the_earliest_deadlines_of_all_partitions_come_first(many: Many, most: int) -> None:
    deadlines = [(n * 37) % 101 + 60 for n in range(100)]  # no two are the same
    pools = [None, None, "video"]
    names = {s: many.batch(s, f"k{n % 11}", pools[n % 3]) for n, s in enumerate(deadlines)}

    expected = [names[deadline] for deadline in sorted(names)]
    assert many.listed(most) == (expected[:most], max(0, 100 - most))


def test_a_batch_whose_jobs_have_all_ended_comes_before_all(many: Many) -> None:
    late, early = many.batch(9000, "b"), many.batch(60, "a")
    for partition in many.pool.partitions():
        due = many.pool.server.data(partition.key).batches_due
        if late.encode() in due:
            due[late.encode()] = 0  # as its last end was told, before its owner looks

    assert many.listed(10)[0] == [late, early]


def test_few_calls_are_enough_however_many_partitions_there_are(many: Many) -> None:
    for n in range(60):
        many.batch(60 + n, f"k{n}")

    found, more = many.listed(5)

    assert (len(found), more) == (5, 55)
    assert all(count == 5 for counts in many.calls for count in counts)
    assert len(many.calls) <= 3
    assert len(many.calls[0]) == PARTITIONS


def test_parts_of_flows_are_not_listed_and_do_not_hide_what_is(many: Many) -> None:
    flow = Flow("wide", partition_key="a", deadline_s=30, keep_s=1)
    for n in range(100):
        flow.add("sum", {"n": n}, name=f"s{n}", after=[f"s{n - 1}"] if n else [])
    name = many.pool.enqueue_flow(flow).name
    other = many.batch(7200, "a")

    assert sorted(many.listed(3)[0]) == sorted([name, other])
    assert many.listed(3)[1] == 0
