"""The history of a partition: entries of executions that ended, bounded by bytes."""

import pytest

from queuepool.errors import FencedError
from queuepool.models import JobId
from queuepool.models.history import PastRun, is_slow, usual_s
from queuepool.models.runs import RunEnd
from queuepool.partitions.partition import OwnedPartition
from queuepool.protocol.history import encode_run
from queuepool.verbs.operator import finding
from queuepool.verbs.owner import verbs as own
from tests.contract.world import World


def run(job_id: str, *, attempt: int = 1, end: RunEnd = RunEnd.DONE, ran_s: float = 1.5) -> PastRun:
    return PastRun(
        job_id=JobId(job_id), task="t", group="g", attempt=attempt, end=end, ended_ms=0,
        waited_s=0.25, ran_s=ran_s, reason="" if end is RunEnd.DONE else "failed", type="E",
        message="no",
    )  # fmt: skip


def keep(owned: OwnedPartition, *runs: PastRun, keep_bytes: int = 10_000) -> int:
    lines = b"\n".join(encode_run(run, 500) for run in runs)
    return owned.run(own.chronicle(owned.ownership, lines, keep_bytes))


def kept(world: World, job_id: str | None = None, look: int = 20) -> list[PastRun]:
    found, skip = list[PastRun](), 0
    while skip >= 0:
        skip, some = world.partition.run(finding.history(job_id, skip, look))
        found += some
    return found


def test_executions_are_returned_the_latest_first(world: World) -> None:
    owned = world.own()
    keep(owned, run("a", end=RunEnd.FAILED), run("b"))
    world.advance(2)
    keep(owned, run("a", attempt=2))

    for look in (1, 20):
        found = kept(world, look=look)
        assert [(r.job_id, r.attempt) for r in found] == [("a", 2), ("b", 1), ("a", 1)]
    last, _, first = found
    assert (last.end, first.end, first.type) == (RunEnd.DONE, RunEnd.FAILED, "E")
    assert (last.waited_s, last.ran_s, last.task, last.group) == (0.25, 1.5, "t", "g")
    assert last.ended_ms >= first.ended_ms


def test_those_of_a_job_are_found_by_its_id(world: World) -> None:
    owned = world.own()
    for attempt in (1, 2):
        keep(owned, run("a", attempt=attempt), run("ab"), run("b"), run("a", attempt=attempt + 2))

    assert [r.attempt for r in kept(world, "a", look=1)] == [4, 2, 3, 1]
    assert [r.job_id for r in kept(world, "ab")] == ["ab", "ab"]
    assert kept(world, "never") == []


def test_the_oldest_are_forgotten_beyond_the_bytes(world: World) -> None:
    owned = world.own()
    size = len(encode_run(run("j00"), 500))

    sizes = [keep(owned, run(f"j{n:02}"), keep_bytes=5 * size) for n in range(12)]

    assert sizes == [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5]
    assert [r.job_id for r in kept(world)] == ["j11", "j10", "j09", "j08", "j07"]
    assert keep(owned, run("end"), keep_bytes=2 * size) == 2
    assert keep(owned, run("none"), keep_bytes=1) == 0
    assert kept(world) == []
    assert keep(owned, run("again"), keep_bytes=2 * size) == 1


def test_a_page_of_history_ends_when_it_has_many_bytes(server_world: World) -> None:
    owned = server_world.own()
    line = encode_run(run("a"), 500)
    for _ in range(4):
        lines = b"\n".join([line] * (600_000 // len(line)))
        owned.run(own.chronicle(owned.ownership, lines, 10_000_000))

    skip, found = server_world.partition.run(finding.history(None))
    assert skip == 2
    assert len(found) == 2 * (600_000 // len(line))


def test_only_an_owner_keeps_history(world: World) -> None:
    owned = world.own()
    stale = own.Ownership(0, "stale", owned.epoch)

    with pytest.raises(FencedError):
        owned.run(own.chronicle(stale, b"[]", 100))
    assert world.partition.run(finding.history(None)) == (-1, [])


def test_lines_that_are_not_ours_are_left_out(world: World) -> None:
    owned = world.own()
    owned.run(own.chronicle(owned.ownership, b'{"x":1}\n["a"]\nnothing', 10_000))
    keep(owned, run("a"))

    assert [r.job_id for r in kept(world)] == ["a"]


def test_a_task_is_slow_beyond_three_times_what_is_usual() -> None:
    few = [run(f"j{n}", ran_s=2.0) for n in range(19)]

    assert usual_s(few) == {}
    usual = usual_s([*few, run("last", ran_s=9.0), run("failed", end=RunEnd.DEAD, ran_s=99)])
    assert usual == {"t": 9.0}
    assert usual_s([*few * 10, run("last", ran_s=9.0)]) == {"t": 2.0}
    assert [is_slow(age_s, 2.0) for age_s in (5.9, 6.1)] == [False, True]
    assert not is_slow(0.9, 0.001)
    assert not is_slow(1000, None)
