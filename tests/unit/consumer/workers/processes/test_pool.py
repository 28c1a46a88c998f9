"""A pool of child processes: what a job does there costs that job, and no one else."""

import contextlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from consumer.core.jobs import End, Outcome
from consumer.workers.processes import handle
from consumer.workers.processes.bounds import Bounds
from queuepool.protocol import codec
from tests.apps import late
from tests.unit.consumer.workers.executing import OWNERSHIP
from tests.unit.consumer.workers.processes.conftest import Bench
from tests.waiting import wait_until

MakeBench = Callable[..., Bench]
pytestmark = [pytest.mark.xdist_group("process_pool"), pytest.mark.thorough]


def message(outcome: Outcome) -> str:
    return str(json.loads(outcome.error)["message"])


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_job_runs_in_a_child_that_imported_the_application_once(bench: Bench) -> None:
    first, second = (json.loads(bench.one("facts").result or b"") for _ in range(2))

    assert first["pid"] == first["imported_by"] == second["pid"] == bench.children[0]
    assert first["pid"] != os.getpid()
    assert first["main"]
    assert bench.rings >= 2


def test_its_handler_sees_what_any_handler_sees(bench: Bench) -> None:
    job = bench.job("facts", attempt=4, options=codec.Options(timeout_s=20.0))
    bench.pool.submit([job])
    outcome = bench.outcomes(1)[0]
    seen: dict[str, Any] = json.loads(outcome.result or b"")

    assert (seen["id"], seen["task"], seen["attempt"]) == (job.id.decode(), "harm.facts", 4)
    assert (seen["partition"], seen["token"]) == (OWNERSHIP.partition, OWNERSHIP.epoch)
    assert seen["group"].encode("latin-1") == job.group
    assert 0 < seen["deadline"] - monotonic() <= 20
    assert (outcome.job, outcome.end, outcome.task) == (job, End.DONE, "harm.facts")
    assert outcome.result_ttl_ms == 3_600_000
    assert job.claimed_s <= outcome.started_s <= outcome.ended_s <= monotonic()


@pytest.mark.parametrize(
    ("what", "end", "reason"),
    [
        ("ValueError", End.RETRY, "failed"),
        ("PermanentError", End.BURY, "permanent"),
        ("RetryLater", End.RETRY, ""),
        ("RateLimited", End.RETRY, ""),
        ("SystemExit", End.RETRY, "failed"),
        ("KeyboardInterrupt", End.RETRY, "failed"),
    ],
)
def test_what_a_handler_raises_ends_the_job_as_in_a_thread(
    bench: Bench, what: str, end: End, reason: str
) -> None:
    outcome = bench.one("raises", what=what)

    later = what in ("RetryLater", "RateLimited")
    assert (outcome.end, outcome.reason, outcome.charged) == (end, reason, not later)
    assert outcome.delay_ms == 3000 or not later
    assert outcome.slow_ms == (3000 if what == "RateLimited" else 0)
    assert bench.one("double", n=4).result == b"8"
    assert bench.pool.replaced == {}


def test_a_payload_that_does_not_fit_and_an_unknown_task_end_as_in_a_thread(bench: Bench) -> None:
    bad, unknown = bench.one("double", n="x"), bench.one("nobody", n=1)

    assert (bad.end, bad.reason) == (End.BURY, "bad-payload")
    assert (unknown.end, unknown.aside, unknown.charged) == (End.RETRY, "harm.nobody", False)


def test_an_alarm_and_a_low_recursion_limit_end_with_the_job_that_set_them(bench: Bench) -> None:
    before = bench.one("rests", seconds=0).result

    assert bench.one("leaves_alarm", seconds=0.3).end is End.DONE

    assert bench.one("rests", seconds=0.6).result == before
    assert bench.pool.replaced == {}


def test_context_variables_end_with_the_job_that_set_them(bench: Bench) -> None:
    assert [bench.one("sees", text=text).result for text in "ab"] == [b'""'] * 2


@pytest.mark.parametrize(
    ("task", "payload", "what"),
    [
        ("segfault", {}, "SIGSEGV"),
        ("leave", {"status": 3}, "exit status 3"),
        ("killed_by", {"number": signal.SIGKILL}, "SIGKILL"),
        ("close_everything", {}, "exit status 1"),
        ("write_anywhere", {}, "socket"),
    ],
)
def test_a_child_that_dies_costs_its_job_alone(
    bench: Bench, tmp_path: Path, task: str, payload: dict[str, Any], what: str
) -> None:
    bench.ready(2)
    other = bench.submit("wait_for", gate=str(tmp_path / "gate"))[0]
    wait_until(lambda: other.id in bench.runner.progress)

    outcome = bench.one(task, **payload)

    assert (outcome.end, outcome.reason, outcome.charged) == (End.RETRY, "crashed", True)
    assert what in message(outcome)
    (tmp_path / "gate").touch()
    assert bench.outcomes(1)[0].job is other
    wait_until(lambda: bench.pool.alive == 2)
    assert bench.one("double", n=1).result == b"2"
    assert bench.pool.replaced["crashed"] == 1


def test_a_crash_in_the_last_attempt_buries_the_job(bench: Bench) -> None:
    bench.pool.submit([bench.job("leave", attempt=5)])
    outcome = bench.outcomes(1)[0]

    assert (outcome.end, outcome.reason) == (End.BURY, "crashed")


def test_a_loop_in_c_code_ends_at_its_deadline(bench: Bench) -> None:
    (child,) = bench.children

    outcome = bench.one("endless_in_c")

    assert (outcome.end, outcome.reason) == (End.RETRY, "timeout")
    assert "timeout of 0.4 s; its process was killed" in message(outcome)
    assert 0.4 <= outcome.ended_s - outcome.started_s < 30  # of hours
    wait_until(lambda: not is_running(child))
    assert bench.one("double", n=2).result == b"4"
    assert bench.pool.replaced == {"timeout": 1}


def test_a_regular_expression_that_never_ends_does(bench: Bench) -> None:
    job = bench.job("match", text="a" * 64, options=codec.Options(timeout_s=0.3))
    bench.pool.submit([job])

    assert bench.outcomes(1)[0].reason == "timeout"


def test_what_a_handler_started_dies_with_it(bench: Bench, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    for _ in range(9):  # on a busy machine its time may be over before it has started anything
        assert bench.one("parent_of", seconds=60, note=str(note)).reason == "timeout"
        if note.exists() and note.read_text():
            break
    wait_until(lambda: not is_running(int(note.read_text())))


def test_a_child_that_left_its_process_group_is_killed(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.ready(1)
    (child,) = bench.children

    assert bench.one("moves").reason == "timeout"

    wait_until(lambda: not is_running(child))
    assert bench.one("double", n=2).result == b"4"


def test_a_child_over_its_memory_is_killed(make_bench: MakeBench) -> None:
    bench = make_bench(Bounds(max_rss_bytes=200 * 2**20))
    bench.ready(1)

    outcome = bench.one("take_memory", mib=400, seconds=30)

    assert (outcome.end, outcome.reason) == (End.RETRY, "crashed")
    assert "CONSUMER_PROCESS_MAX_RSS_MB=200" in message(outcome)
    assert bench.one("double", n=2).result == b"4"


def test_a_child_that_grew_is_replaced_between_two_jobs(make_bench: MakeBench) -> None:
    bench = make_bench(Bounds(max_rss_bytes=400 * 2**20))
    bench.ready(1)

    pids = [int(bench.one("leak", mib=330).result or b"") for _ in range(2)]

    assert pids[0] != pids[1]
    assert bench.pool.replaced["memory"] >= 1
    assert "crashed" not in bench.pool.replaced


def test_a_child_is_replaced_after_so_many_jobs(make_bench: MakeBench) -> None:
    bench = make_bench(Bounds(max_jobs=3))
    bench.ready(1)

    pids = [json.loads(bench.one("facts").result or b"")["pid"] for _ in range(7)]

    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]
    assert bench.pool.replaced["max_jobs"] == 2


def test_progress_and_cancel_requests_go_through(bench: Bench, tmp_path: Path) -> None:
    (job,) = bench.submit("wait_for", gate=str(tmp_path / "never"))
    wait_until(lambda: bench.runner.progress.get(job.id) == b"began")

    job.cancelled = True

    assert bench.outcomes(1)[0].end is End.CANCELLED
    assert bench.pool.replaced == {}


def test_coroutines_run_in_a_child_as_well(bench: Bench) -> None:
    assert bench.one("coroutine", n=1).result == b"2"
    assert bench.one("ruins_the_loop").reason == "failed"
    assert bench.one("coroutine", n=2).result == b"3"


def test_a_handler_that_forks_ends_once(bench: Bench) -> None:
    assert bench.one("forks").result == b"%d" % bench.children[0]
    assert bench.one("double", n=3).result == b"6"


def test_sigterm_is_for_the_consumer_not_for_its_children(bench: Bench) -> None:
    assert bench.one("killed_by").result == b'"here"'


@pytest.mark.parametrize("size", [0, 300_000, 1_000_000])
def test_large_payloads_and_results_go_through(bench: Bench, size: int) -> None:
    outcome = bench.one("large", size=size, payload="x" * 12_000_000 if not size else "")

    assert outcome.result is None if not size else len(outcome.result or b"") == size + 2
    assert outcome.reason == ("" if size else "bad-result")


def test_no_more_run_than_there_are_children(make_bench: MakeBench, tmp_path: Path) -> None:
    bench = make_bench()
    bench.ready(2)
    jobs = bench.submit("wait_for", 6, gate=str(tmp_path / "gate"))
    wait_until(lambda: len(bench.runner.progress) == 2)

    assert bench.pool.queued == 4
    assert bench.pool.withdraw() == jobs[2:]
    (tmp_path / "gate").touch()
    bench.outcomes(2)


def test_it_shrinks_between_jobs_and_grows_again(make_bench: MakeBench, tmp_path: Path) -> None:
    bench = make_bench()
    bench.ready(3)
    bench.submit("wait_for", 2, gate=str(tmp_path / "gate"))
    wait_until(lambda: len(bench.runner.progress) == 2)

    bench.pool.resize(1)
    wait_until(lambda: bench.pool.alive == 2)  # the idle one left, nothing was interrupted
    (tmp_path / "gate").touch()
    assert {o.end for o in bench.outcomes(2)} == {End.DONE}
    wait_until(lambda: bench.pool.alive == 1)
    bench.ready(2)

    assert set(bench.pool.replaced) == {"resized"}


def test_children_that_are_not_ready_are_missing_from_its_places(
    make_bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    monkeypatch.setenv(late.GATE, str(gate))
    bench = make_bench(app=late.__name__)
    bench.pool.resize(2)

    assert (bench.pool.target, bench.pool.alive, bench.pool.spare) == (2, 0, -2)
    gate.touch()
    wait_until(lambda: bench.pool.spare == 0)
    bench.one("leave")
    assert bench.pool.spare in (-1, 0)


def test_an_application_that_children_cannot_import_is_tried_again(
    make_bench: MakeBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench = make_bench(app="tests.apps.there_is_none")
    bench.pool.resize(1)

    wait_until(lambda: "did not start: exit status 2; next try in" in caplog.text)
    assert bench.pool.alive == 0


def test_without_pidfds_deaths_and_deadlines_are_seen_all_the_same(
    make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "_pidfd", lambda _: -1)
    bench = make_bench()
    bench.ready(1)

    assert bench.one("segfault").reason == "crashed"
    assert bench.one("endless_in_c").reason == "timeout"
    assert bench.one("double", n=2).result == b"4"


def test_a_child_that_someone_else_reaped_is_gone(bench: Bench) -> None:
    (child,) = bench.children
    os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):  # the supervisor was faster
        os.waitpid(child, 0)

    wait_until(lambda: bench.pool.alive == 1 and bench.children != [child])
    assert bench.one("double", n=2).result == b"4"


def test_nothing_starts_when_the_lease_may_be_over(bench: Bench) -> None:
    bench.pool.start_until_s = monotonic() - 1

    assert bench.one("double", n=1).end is End.HAND_BACK


def test_closing_kills_what_still_runs(make_bench: MakeBench, tmp_path: Path) -> None:
    bench = make_bench()
    bench.ready(1)
    (job,) = bench.submit("wait_for", gate=str(tmp_path / "never"))
    wait_until(lambda: job.id in bench.runner.progress)
    (child,) = bench.children

    began = monotonic()
    bench.pool.close(0.1)
    bench.pool.close(0.1)

    assert monotonic() - began < 30  # the job would never end
    wait_until(lambda: not is_running(child))
    assert bench.pool.take_ended() == []


def test_a_pool_that_never_started_can_be_closed(make_bench: MakeBench) -> None:
    make_bench().pool.close(0.0)


def test_jobs_of_many_sizes_and_deaths_are_each_ended_once(make_bench: MakeBench) -> None:
    bench = make_bench()
    bench.ready(2)
    jobs = [bench.job("leave") if n % 10 == 3 else bench.job("double", n=n) for n in range(30)]
    for start in range(0, 30, 10):
        bench.pool.resize(1 + start % 3)
        bench.pool.submit(jobs[start : start + 10])

    outcomes = bench.outcomes(30)

    assert sorted(o.job.id for o in outcomes) == sorted(job.id for job in jobs)
    assert sum(o.reason == "crashed" for o in outcomes) == 3
