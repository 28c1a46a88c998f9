"""Jobs counted, replayed, discarded, edited and run through the gRPC API of a real process."""

from __future__ import annotations

import json
import time
from typing import Any

import grpc
import pytest

from queuepool.client.pool import QueuePool
from queuepool.models import JobState
from queuepool.rpc.client import QueuePoolClient
from queuepool.rpc.v1 import job_pb2
from queuepool.rpc.v1 import queue_pool_pb2 as api
from queuepool.verbs.operator import editing
from tests.integration.cli.jobs import bury, claim, own_partition
from tests.integration.coordinator.cluster import Process
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("coordinator-process")
SECRET = "secret-of-payload"
DEAD = job_pb2.JOB_STATE_DEAD


def filtered(**wanted: Any) -> job_pb2.JobFilter:
    return job_pb2.JobFilter(**wanted)


def dead(client: QueuePoolClient, **wanted: Any) -> int:
    request = api.CountJobsRequest(state=DEAD, filter=filtered(**wanted))
    return client.CountJobs(request).jobs


def acts(pool: QueuePool, count: int) -> list[tuple[str, str, str]]:
    """Return (what, subject, outcome) of so many entries of the log, in any order, once there."""
    wait_until(lambda: len(pool.log(kinds=["act"])) == count)
    return [(one.what, one.subject, one.outcome) for one in pool.log(kinds=["act"])]


def test_jobs_are_counted_as_they_are_found(pool: QueuePool, client: QueuePoolClient) -> None:
    for n in range(3):
        bury(pool, f"k{n}", 2, f"{SECRET} pin-123abc")
    pool.enqueue_many("now", [{}] * 5, partition_key="r", tenant="acme")

    [error] = client.ListErrors(api.ListErrorsRequest()).errors
    assert client.CountJobs(api.CountJobsRequest()).jobs == 11
    assert (dead(client), dead(client, partition_key=b"k1"), dead(client, task="now")) == (6, 2, 0)
    assert dead(client, fingerprint=error.error.fingerprint) == 6
    assert dead(client, fingerprint="pin-123abc") == 0  # a text is no guess
    assert client.CountJobs(api.CountJobsRequest(filter=filtered(tenant="acme"))).jobs == 5


def test_the_dead_are_told_in_short(pool: QueuePool, client: QueuePoolClient) -> None:
    empty = client.GetDigest(api.GetDigestRequest()).digest
    before_ms = time.time() * 1000 - 60_000
    bury(pool, "k0", 2, SECRET)

    digest = client.GetDigest(api.GetDigestRequest()).digest
    partition = pool.group("k0").partition.number
    other = client.GetDigest(api.GetDigestRequest(partition=1 - partition)).digest

    assert (empty.dead, empty.HasField("oldest_ms"), empty.exact) == (0, False, True)
    assert (digest.dead, digest.exact, other.dead) == (2, True, 0)
    assert before_ms < digest.oldest_ms <= digest.newest_ms
    [task], [reason], [error] = digest.tasks, digest.reasons, digest.errors
    assert (task.name, task.jobs, reason.name, reason.jobs) == ("send", 2, "failed", 2)
    assert (error.dead, error.error.type) == (2, "ValueError")
    assert SECRET not in str(digest)


def test_what_runs_is_listed_the_longest_first(pool: QueuePool, client: QueuePoolClient) -> None:
    jobs = [pool.enqueue("t", {"n": n}, partition_key="k").job_id for n in range(2)]
    owned = own_partition(pool, pool.group("k").partition.number)
    request = api.ListRunningRequest()

    def ages() -> list[bool]:
        return [one.age_s > 0 for one in client.ListRunning(request).jobs]

    claim(owned, 1)
    wait_until(lambda: ages() == [True])
    claim(owned, 1)
    wait_until(lambda: ages() == [True, True])

    found = client.ListRunning(request).jobs
    [longest] = client.ListRunning(api.ListRunningRequest(page_size=1)).jobs

    assert [one.job.job_id for one in found] == jobs
    assert found[0].age_s > found[1].age_s > 0
    assert found[0].job.at_ms < found[1].job.at_ms
    assert (longest.job.job_id, longest.slow, longest.HasField("usual_s")) == (
        jobs[0],
        False,
        False,
    )


def test_dead_jobs_are_replayed_and_discarded(pool: QueuePool, client: QueuePoolClient) -> None:
    for n in range(2):
        bury(pool, f"k{n}", 4, SECRET)
    [error] = client.ListErrors(api.ListErrorsRequest()).errors
    same = filtered(fingerprint=error.error.fingerprint)

    tried = client.ReplayJobs(api.ReplayJobsRequest(filter=same, dry_run=True)).change
    some = client.ReplayJobs(api.ReplayJobsRequest(filter=same, most=3, reason="deployed")).change
    of_one = filtered(partition_key=b"k1", until_ms=some.until_ms)
    left = dead(client, partition_key=b"k1")
    gone = client.DiscardJobs(api.DiscardJobsRequest(filter=of_one)).change
    rest = client.ReplayJobs(api.ReplayJobsRequest(filter=filtered())).change

    assert (tried.matched, tried.changed, tried.more) == (8, 0, False)
    assert (some.matched, some.changed, some.more) == (3, 3, True)
    assert (gone.changed, gone.more) == (left, False)
    assert (rest.changed, rest.more, dead(client)) == (5 - left, False, 0)
    assert pool.group("k0").status().ready + pool.group("k1").status().ready == 8 - left
    told, subject = acts(pool, 4), f"dead jobs fingerprint={error.error.fingerprint}"
    assert ("dead replay", f"{subject}: most=3", "3 changed") in told
    assert ("dead replay", f"{subject}: dry_run=True", "nothing changed") in told
    assert [one[0] for one in told].count("dead discard") == 1
    assert ("dead replay", "dead jobs all", f"{5 - left} changed") in told


def test_a_rate_ends_the_call_in_time_and_says_that_there_are_more(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    bury(pool, "k", 3, SECRET)
    request = api.DiscardJobsRequest(filter=filtered(), rate=0.01)

    first = client.DiscardJobs(request).change
    request.filter.until_ms = first.until_ms
    second = client.DiscardJobs(request).change

    assert (first.changed, first.more, second.changed, second.more) == (1, True, 1, True)
    assert dead(client) == 1


def test_a_job_is_edited_and_run(
    pool: QueuePool, running: Process, client: QueuePoolClient
) -> None:
    delayed = pool.enqueue("t", {"n": 1}, partition_key="k", delay_s=600).job_id
    [died] = bury(pool, "k", 1, SECRET)
    payload = json.dumps({"n": SECRET})

    edited = client.EditJob(api.EditJobRequest(job_id=delayed, payload=payload, reason="theirs"))
    ran = client.RunJob(api.RunJobRequest(job_id=delayed))
    again = client.RunJob(api.RunJobRequest(job_id=delayed, partition_key=b"k"))
    revived = client.RunJob(api.RunJobRequest(job_id=died))

    assert [one.state for one in (edited, ran, again, revived)] == [
        *[job_pb2.JOB_STATE_DELAYED] * 3, DEAD,
    ]  # fmt: skip
    assert pool.status(died).state is JobState.READY
    assert (pool.status(delayed).at_ms or 0) <= time.time() * 1000 + 1000  # no more in ten minutes
    state, body = pool.group("k").partition.run(editing.edit(delayed))
    assert (state, SECRET.encode() in body) == ("delayed", True)
    told = acts(pool, 4)
    assert ("job edit", f"job {delayed}", "done") in told
    assert ("job run", f"job {died}", "done") in told
    assert SECRET not in str(pool.log(kinds=["act"])) + "".join(running.log)


def test_what_cannot_be_done_is_refused_with_a_sentence(
    pool: QueuePool, client: QueuePoolClient
) -> None:
    pool.enqueue("t", {"n": 1}, partition_key="k")
    owned = own_partition(pool, pool.group("k").partition.number)
    [claimed] = claim(owned, 1)
    of_claimed = api.EditJobRequest(job_id=claimed.decode())
    calls: list[tuple[Any, Any, str, str]] = [
        (client.ReplayJobs, api.ReplayJobsRequest(), "INVALID_ARGUMENT", "filter: name the jobs"),
        (client.DiscardJobs, api.DiscardJobsRequest(), "INVALID_ARGUMENT", "all dead jobs"),
        (
            client.DiscardJobs,
            api.DiscardJobsRequest(filter=filtered(fingerprint="oops")),
            "INVALID_ARGUMENT",
            "ListErrors",
        ),
        (
            client.ReplayJobs,
            api.ReplayJobsRequest(filter=filtered(), rate=float("nan")),
            "INVALID_ARGUMENT",
            "rate=nan",
        ),
        (
            client.ReplayJobs,
            api.ReplayJobsRequest(filter=filtered(partition=9)),
            "NOT_FOUND",
            "use 0 to 1",
        ),
        (client.CountJobs, api.CountJobsRequest(filter=filtered(pool="a b")), "INVALID_ARGUMENT",
         "pool"),
        (client.GetDigest, api.GetDigestRequest(partition=9), "NOT_FOUND", "use 0 to 1"),
        (client.RunJob, api.RunJobRequest(job_id="none"), "NOT_FOUND", "never existed"),
        (client.RunJob, api.RunJobRequest(), "INVALID_ARGUMENT", "id"),
        (client.EditJob, api.EditJobRequest(job_id="none"), "NOT_FOUND", "never existed"),
        (client.EditJob, of_claimed, "FAILED_PRECONDITION", "cancel it, or wait"),
        (
            client.EditJob,
            api.EditJobRequest(job_id="none", payload="[1]"),
            "INVALID_ARGUMENT",
            "JSON object",
        ),
    ]  # fmt: skip
    for call, request, code, why in calls:
        with pytest.raises(grpc.RpcError) as refused:
            call(request)
        assert (refused.value.code().name, why in str(refused.value.details())) == (code, True), (
            request
        )
