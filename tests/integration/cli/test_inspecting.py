"""`queuepool job find|run|edit|history`, `jobs running`, `errors`, and filters of `dead`."""

import json
from collections.abc import Sequence

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.models import JobState, Replayed
from queuepool.partitions.partition import Partition
from queuepool.verbs.owner import verbs as own
from tests.integration.cli.jobs import KEY, bury, claim, own_partition
from tests.shell import Shell


def test_a_dry_run_a_limit_and_a_fingerprint(shell: Shell, pool: QueuePool) -> None:
    bury(pool, "a", 5, "timeout of 3")
    bury(pool, "b", 2, "no such user")

    first, second = shell.json("errors")
    assert (first["dead"], first["retrying"], first["message"]) == (5, 0, "timeout of 3")
    assert second["dead"] == 2
    chosen = ["--error", first["fingerprint"], "--since", "1h"]
    assert shell.json("dead", "replay", *chosen, "--dry-run") == [{"would_be_replayed": 5}]
    assert shell.json("dead", "replay", *chosen, "--limit", "2", "--rate", "1000/s") == [
        {"replayed": 2}
    ]
    assert shell.run("dead", "discard", *chosen, "--limit", "1", "--yes") == Exit.OK
    assert pool.group("a").status().dead == 2
    assert shell.json("job", "find", "--state", "dead", "--until", "1h") == []
    assert len(shell.json("job", "find", "--key", "a", "--state", "ready")) == 2


def test_a_replay_ends_although_its_jobs_die_again_at_once(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        bury(pool, "a", 100)
    replay, replayed = Partition.replay, list[str]()

    def dying(partition: Partition, ids: Sequence[str]) -> Replayed:
        done = replay(partition, ids)
        replayed.extend(ids)
        assert len(replayed) <= 600, "it replays the same jobs over and over"
        bury_again(pool, partition.number)
        return done

    monkeypatch.setattr(Partition, "replay", dying)
    assert shell.json("dead", "replay", "--all") == [{"replayed": 300}]
    assert len(set(replayed)) == len(replayed) == 300


def bury_again(pool: QueuePool, number: int) -> None:
    """Let all jobs of a partition die."""
    owned = own_partition(pool, number)
    while ids := claim(owned, 100):
        keep = {"keep_jobs": 1000, "keep_bytes": 10**6, "keep_ms": 10**8}
        owned.run(own.bury(owned.ownership, [(i, b'{"reason":"failed"}') for i in ids], **keep))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))


def die(pool: QueuePool, number: int) -> None:
    """Let all jobs of a partition die."""
    owned = own_partition(pool, number)
    error = b'{"reason":"failed","type":"ValueError","message":"boom"}'
    while ids := claim(owned, 100):
        jobs = [(job_id, error) for job_id in ids]
        owned.run(own.bury(owned.ownership, jobs, keep_jobs=1000, keep_bytes=10**6, keep_ms=10**8))
    owned.run(own.release(owned.ownership, drain_lease_ms=0))


def test_jobs_errors_and_the_digest_are_shown(shell: Shell, pool: QueuePool) -> None:
    assert [shell.run(*words) for words in (["errors"], ["dead", "digest"])] == [Exit.OK] * 2
    assert shell.run("jobs", "running") == Exit.OK
    assert shell.out == "no job runs\n"
    bury(pool, "a", 2, "timeout")
    [running] = pool.enqueue_many("t", [{}], partition_key="r")
    owned = own_partition(pool, running.partition)
    verb = own.claim(owned.ownership, 1, starting=1, promote_after_ms=60_000, weights=(6, 3, 2, 1))
    owned.run(verb)

    [shown] = shell.json("jobs", "running")
    assert (shown["job_id"], shown["task"], shown["state"]) == (running.job_id, "t", "in-flight")
    assert shown["age_s"] >= 0
    shell.run("jobs", "running")
    assert running.job_id in shell.out
    [digest] = shell.json("dead", "digest")
    assert (digest["dead"], digest["reasons"]) == (2, [["failed", 2]])
    shell.run("dead", "digest")
    assert "ValueError: timeout" in shell.out
    assert shell.run("job", "find", "--count") == Exit.OK
    assert shell.out == "3 jobs\n"
    assert shell.run("job", "find", "--limit", "1") == Exit.OK
    assert "there are more" in shell.err
    assert shell.run("job", "find", "--state", "parked") == Exit.OK
    assert shell.out == "no job matches\n"


def test_dead_jobs_of_a_key_are_those_of_all_its_parts_and_of_its_tenant(
    shell: Shell, pool: QueuePool
) -> None:
    pool.enqueue_many("t", [{"n": n} for n in range(12)], partition_key="wide", spread=4)
    pool.enqueue_many("t", [{"n": n} for n in range(3)], partition_key="wide", tenant="acme")
    pool.enqueue_many("t", [{}], partition_key="other")
    for partition in pool.partitions():
        die(pool, partition.number)

    shown = shell.json("dead", "list", "--key", "wide")
    of_acme = shell.json("dead", "list", "--key", "wide", "--tenant", "acme")

    assert (len(shown), len(of_acme)) == (12, 3)
    assert {one["key"] for one in shown + of_acme} == {"wide"}
    assert shell.run("dead", "replay", "--key", "wide") == Exit.OK
    assert pool.group("wide").status().ready == 12
    assert shell.run("dead", "discard", "--key", "wide", "--tenant", "acme", "--yes") == Exit.OK
    assert pool.inspect.count("dead") == 1


def test_a_job_is_edited_and_run_now(shell: Shell, pool: QueuePool) -> None:
    job_id = pool.enqueue("t", {"n": 1}, partition_key=KEY, delay_s=3600).job_id

    assert shell.run("job", "edit", job_id, "--payload", "{", "--key", KEY) == Exit.USAGE
    assert shell.run("job", "edit", job_id, "--payload", '{"n": 2}', "--run") == Exit.OK
    assert shell.out == "it was delayed and is due now\n"
    [shown] = shell.json("job", "run", job_id)
    assert shown["was"] == "delayed"
    assert shell.run("job", "run", "never-seen") == Exit.USAGE
    assert "it has ended or never existed" in shell.err
    [dead] = bury(pool, "a", 1)
    assert shell.run("job", "run", dead) == Exit.OK
    assert pool.status(dead).state is JobState.READY


def test_the_history_of_a_job_is_shown(shell: Shell, pool: QueuePool) -> None:
    job = pool.enqueue("t", {}, partition_key=KEY)
    assert shell.run("job", "history", job.job_id) == Exit.FAILED
    assert "CONSUMER_HISTORY_KEEP_BYTES" in shell.err
    owned = own_partition(pool, job.partition)
    line = json.dumps([job.job_id, "t", KEY, 2, "dead", 10, 20, 3000, "failed", "ValueError", "no"])
    owned.run(own.chronicle(owned.ownership, line.replace(" ", "").encode(), 1000))

    [shown] = shell.json("job", "history", job.job_id)
    assert (shown["attempt"], shown["end"], shown["ran_s"]) == (2, "dead", 3.0)
    assert shell.run("job", "history", job.job_id, "--key", KEY) == Exit.OK
    assert "ValueError: no" in shell.out


def test_the_largest_and_oldest_groups_are_listed(shell: Shell, pool: QueuePool) -> None:
    assert shell.run("group", "list") == Exit.OK
    assert shell.out == "no group has jobs left\n"
    for n, key in ((1, "small"), (3, "large"), (2, "middle")):
        pool.enqueue_many("t", [{}] * n, partition_key=key, tenant="acme" if n == 2 else None)

    rows = shell.json("group", "list", "--order", "size")
    assert [(row["key"], row["left"], row["tenant"]) for row in rows] == [
        ("large", 3, None), ("middle", 2, "acme"), ("small", 1, None),
    ]  # fmt: skip
    [oldest] = shell.json("group", "list", "--order", "age", "--limit", "1")
    assert oldest["created_ms"] == min(row["created_ms"] for row in rows)
    assert shell.run("group", "list", "--limit", "2") == Exit.OK
    assert "small" not in shell.out
    assert "there are more" in shell.err


@pytest.mark.parametrize(
    "words", [("job", "history", "none", "--key", "k"), ("why", "0", "--at", "30d")], ids=" ".join
)
def test_nothing_recorded_has_the_same_exit_code_with_json(
    shell: Shell, words: tuple[str, ...]
) -> None:
    assert shell.run(*words) == Exit.FAILED
    said = shell.err
    assert shell.run(*words, "--json") == Exit.FAILED
    assert shell.err == said
