"""Jobs, errors, groups, batches and schedules through the gRPC API of a real process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from queuepool import After, Flow, Schedule
from queuepool.client.pool import QueuePool
from queuepool.rpc.client import QueuePoolClient
from queuepool.rpc.schedules import definition_of
from queuepool.rpc.v1 import job_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.verbs.owner import verbs as own
from tests.integration.cli.jobs import bury, own_partition
from tests.integration.coordinator.cluster import Process
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")
SECRET = "secret-of-payload"
ANY_NUMBER: Any = 77
NIGHTLY = Schedule("nightly", "report", {"of": SECRET}, cron="30 3 * * *", timezone="Asia/Seoul")


def paged(call: Callable[[Any], Any], request: Any, field: str, size: int) -> list[Any]:
    """Return what all pages have; each has at most `size`, and there is an end."""
    found: list[Any] = []
    for _ in range(100):
        request.page_size = size
        page = call(request)
        assert len(getattr(page, field)) <= size
        found += getattr(page, field)
        request.page_token = page.next_page_token
        if not page.next_page_token:
            return found
    raise AssertionError("it never ends")


def set_request(schedule: Schedule, reason: str = "") -> api.SetScheduleRequest:
    return api.SetScheduleRequest(
        schedule=schedule.name,
        definition=definition_of(schedule),
        payload=json.dumps(schedule.payload),
        reason=reason,
    )


def test_jobs_are_found_in_pages_by_what_they_are(pool: QueuePool, client: QueuePoolClient) -> None:
    dead = [bury(pool, f"k{n}", 2, f"{SECRET} {n}") for n in range(4)]  # in two partitions
    delayed = [
        pool.enqueue("later", {"n": n}, partition_key="d", tenant="acme", delay_s=600 + n).job_id
        for n in range(3)
    ]
    ready = [pool.enqueue("now", {}, partition_key=f"r{n}").job_id for n in range(3)]

    def find(size: int = 2, **wanted: Any) -> list[str]:
        found = paged(client.FindJobs, api.FindJobsRequest(**wanted), "jobs", size)
        return [job.job_id for job in found]

    assert sorted(find(state=job_pb2.JOB_STATE_DEAD)) == sorted(i for some in dead for i in some)
    oldest = find(state=job_pb2.JOB_STATE_DEAD, partition_key=b"k1", size=1, oldest_first=True)
    assert sorted(oldest) == sorted(dead[1])
    assert find(state=job_pb2.JOB_STATE_DEAD, partition_key=b"k1") == oldest[::-1]
    assert find(state=job_pb2.JOB_STATE_DELAYED, tenant="acme", size=1) == delayed[::-1]
    assert sorted(find(task="now", size=100)) == sorted(ready)
    assert find(state=job_pb2.JOB_STATE_DEAD, until_ms=1) == []
    [error] = client.ListErrors(api.ListErrorsRequest()).errors
    assert (error.dead, error.error.type, error.exact) == (8, "ValueError", True)
    assert len(find(fingerprint=error.error.fingerprint, size=50)) == 8
    bury(pool, "pin", 1, "no such pin-123abc")
    assert find(state=job_pb2.JOB_STATE_DEAD, fingerprint="pin-123abc") == []  # a text is no guess
    [job] = client.FindJobs(
        api.FindJobsRequest(state=job_pb2.JOB_STATE_DEAD, partition_key=b"k2", page_size=1)
    ).jobs
    assert (job.task, job.partition_key, job.attempts) == ("send", b"k2", 1)
    assert SECRET not in str(job) + str(error)


def test_a_page_that_finds_nothing_goes_on_where_it_ended(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    pool.enqueue_many("other", [{}] * 10_500, partition_key="a", delay_s=600)
    [wanted] = pool.enqueue_many("wanted", [{}], partition_key="a", delay_s=60)
    state = job_pb2.JOB_STATE_DELAYED
    request = api.FindJobsRequest(state=state, task="wanted", partition_key=b"a", page_size=5)

    first = client.FindJobs(request)
    request.page_token = first.next_page_token
    second = client.FindJobs(request)

    assert (list(first.jobs), bool(first.next_page_token)) == ([], True)
    assert [job.job_id for job in second.jobs] == [wanted.job_id]


def test_groups_and_errors_are_listed_in_pages(pool: QueuePool, client: QueuePoolClient) -> None:
    for n in range(1, 6):
        pool.enqueue_many("t", [{}] * n, partition_key=f"g{n}", tenant="acme" if n == 3 else None)

    groups = paged(client.ListGroups, api.ListGroupsRequest(), "groups", 2)

    assert [group.left for group in groups] == [5, 4, 3, 2, 1]
    assert (groups[2].partition_key, groups[2].tenant) == (b"g3", "acme")
    oldest = client.ListGroups(api.ListGroupsRequest(order=job_pb2.GROUP_ORDER_AGE, page_size=1))
    assert oldest.groups[0].created_ms == min(group.created_ms for group in groups)
    for n in range(3):
        bury(pool, "e", 1, f"{'abc'[n]} failed")
    errors = paged(client.ListErrors, api.ListErrorsRequest(), "errors", 2)
    assert [error.dead for error in errors] == [1, 1, 1]


def test_a_job_without_history_has_none(pool: QueuePool, client: QueuePoolClient) -> None:
    job = pool.enqueue("t", {}, partition_key="h")

    request = api.GetHistoryRequest(job_id=job.job_id, partition_key=b"h")
    assert not client.GetHistory(request).runs


def test_what_is_on_record_of_a_job_is_told_without_its_texts(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    job = pool.enqueue("t", {}, partition_key="h")
    owned = own_partition(pool, job.partition)
    for attempt in (1, 2):
        run = [job.job_id, "t", "h", attempt, "failed", 10, 20, 3000, "failed", "OSError", SECRET]
        line = json.dumps(run, separators=(",", ":")).encode()
        owned.run(own.chronicle(owned.ownership, line, 1000))

    runs = client.GetHistory(api.GetHistoryRequest(job_id=job.job_id)).runs
    [last] = client.GetHistory(api.GetHistoryRequest(job_id=job.job_id, page_size=1)).runs

    assert [run.attempt for run in runs] == [1, 2]
    assert last == runs[1]
    assert (last.end, last.reason, last.type, last.ran_s) == ("failed", "failed", "OSError", 3.0)
    assert SECRET not in str(runs)


def test_a_flow_is_shown_with_its_steps(pool: QueuePool, client: QueuePoolClient) -> None:
    flow = Flow("album", partition_key="a").add("resize", each=[{}, {}])
    handle = pool.enqueue_flow(flow.add("publish", after="resize"))

    shown = client.GetBatch(api.GetBatchRequest(batch=handle.name))
    [listed] = client.ListBatches(api.ListBatchesRequest()).batches
    cancelled = client.CancelBatch(api.CancelBatchRequest(batch=handle.name))

    assert [(step.name, step.state, step.total) for step in shown.steps] == [
        ("resize", "running", 2), ("publish", "waiting", 1),
    ]  # fmt: skip
    assert list(shown.steps[1].after) == ["resize"]
    assert listed.name == shown.batch.name == handle.name
    assert (cancelled.changed, cancelled.state) == (3, "cancelled")


def test_a_batch_is_shown_and_cancelled(
    pool: QueuePool, running: Process, client: QueuePoolClient
) -> None:
    names = [
        pool.enqueue_many("t", [{}] * 3, partition_key=f"b{n}", then=After("publish")).batch.name
        for n in range(3)
    ]

    listed = paged(client.ListBatches, api.ListBatchesRequest(), "batches", 1)
    shown = client.GetBatch(api.GetBatchRequest(batch=names[0]))
    cancelled = client.CancelBatch(api.CancelBatchRequest(batch=names[0], reason="their\nwish"))

    assert sorted(batch.name for batch in listed) == sorted(names)
    assert (shown.batch.state, shown.batch.total, shown.batch.called) == ("open", 3, "publish")
    assert not shown.steps
    assert (cancelled.changed, cancelled.state) == (3, "cancelled")
    assert pool.group("b0").status().cancelled == 4  # and the continuation
    wait_until(lambda: any("cancelled batch" in line for line in running.log))
    [line] = [line for line in running.log if "cancelled batch" in line]
    assert 'reason="their wish"' in line
    wait_until(lambda: any("CancelBatch by operator: OK" in line for line in running.log))
    wait_until(lambda: [entry.what for entry in pool.log(kinds=["act"])] == ["flow cancel"])
    [entry] = pool.log(kinds=["act"])
    assert (entry.subject, entry.outcome) == (f"batch {names[0]}", "3 changed")


def test_a_schedule_is_set_paused_run_and_removed(
    pool: QueuePool, running: Process, client: QueuePoolClient
) -> None:
    changed = [client.SetSchedule(set_request(NIGHTLY)).changed for _ in range(2)]
    paused = client.PauseSchedule(api.PauseScheduleRequest(schedule="nightly", paused=True)).changed
    [listed] = client.ListSchedules(api.ListSchedulesRequest()).schedules
    known = pool.schedules.get("nightly")
    resumed = client.PauseSchedule(api.PauseScheduleRequest(schedule="nightly")).changed
    ran = client.RunSchedule(api.RunScheduleRequest(schedule="nightly", reason="now"))
    removed = client.RemoveSchedule(api.RemoveScheduleRequest(schedule="nightly")).changed

    assert (changed, paused, resumed, ran.changed, removed) == (
        [True, False],
        True,
        True,
        True,
        True,
    )
    assert known is not None
    assert known.schedule is not None
    assert (known.schedule.payload, known.schedule.cron) == (NIGHTLY.payload, NIGHTLY.cron)
    assert "127.0.0.1" in known.by
    assert definition_of(known.schedule) == listed.definition
    assert (len(listed.next_ms), listed.paused_since_ms) == (5, known.paused_ms)
    assert listed.next_ms[0] > time.time() * 1000
    assert SECRET not in str(listed)
    assert pool.status(ran.job_id, partition_key="nightly").task == "report"
    assert pool.schedules.get("nightly") is None
    words = ["schedule set", "schedule set", "schedule pause", "schedule resume", "schedule run"]
    words += ["schedule remove"]
    wait_until(lambda: sorted(entry.what for entry in pool.log(kinds=["act"])) == sorted(words))
    assert {entry.subject.partition(":")[0] for entry in pool.log(kinds=["act"])} == {
        "schedule nightly"
    }
    assert SECRET not in str(pool.log(kinds=["act"])) + "".join(running.log)


def test_schedules_are_listed_in_pages_and_by_name(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    for n in range(5):
        pool.schedules.set(Schedule(f"s{n}", "t", every="10m"))

    found = paged(client.ListSchedules, api.ListSchedulesRequest(), "schedules", 2)

    assert [schedule.name for schedule in found] == [f"s{n}" for n in range(5)]
    assert found[0].definition.every_s == 600
    assert not client.ListSchedules(api.ListSchedulesRequest(name="none")).schedules


def test_what_makes_no_sense_is_refused_with_a_sentence(client: QueuePoolClient) -> None:
    calls: list[tuple[Any, Any, str, str]] = [
        (client.FindJobs, api.FindJobsRequest(page_token="?"), "INVALID_ARGUMENT", "unchanged"),
        (client.FindJobs, api.FindJobsRequest(state=ANY_NUMBER), "INVALID_ARGUMENT", "state=77"),
        (client.FindJobs, api.FindJobsRequest(since_ms=-1), "INVALID_ARGUMENT", "since_ms=-1"),
        (client.FindJobs, api.FindJobsRequest(partition=9), "NOT_FOUND", "use 0 to 1"),
        (client.FindJobs, api.FindJobsRequest(fingerprint="a"), "INVALID_ARGUMENT", "ListErrors"),
        (client.ListGroups, api.ListGroupsRequest(pool="a b"), "INVALID_ARGUMENT", "pool"),
        (client.ListGroups, api.ListGroupsRequest(page_token="x"), "INVALID_ARGUMENT", "unchanged"),
        (client.GetHistory, api.GetHistoryRequest(), "INVALID_ARGUMENT", "id"),
        (client.GetBatch, api.GetBatchRequest(batch="a b"), "INVALID_ARGUMENT", "not a batch"),
        (client.CancelBatch, api.CancelBatchRequest(batch="x"), "INVALID_ARGUMENT", "not a batch"),
        (
            client.GetBatch,
            api.GetBatchRequest(batch="AAAAAAAAAAAAAA"),
            "NOT_FOUND",
            "no such batch",
        ),
        (
            client.CancelBatch,
            api.CancelBatchRequest(batch="AAAAAAAAAAAAAA"),
            "NOT_FOUND",
            "expired",
        ),
        (client.SetSchedule, api.SetScheduleRequest(schedule="a"), "INVALID_ARGUMENT", "cron or"),
        (client.RunSchedule, api.RunScheduleRequest(schedule="a"), "NOT_FOUND", "no schedule 'a'"),
        (client.PauseSchedule, api.PauseScheduleRequest(schedule="a"), "NOT_FOUND", "no schedule"),
        (client.RemoveSchedule, api.RemoveScheduleRequest(), "INVALID_ARGUMENT", "named"),
    ]
    for call, request, code, words in calls:
        with pytest.raises(grpc.RpcError) as refused:
            call(request)
        assert (refused.value.code().name, request) == (code, request)
        assert words in (refused.value.details() or "")
