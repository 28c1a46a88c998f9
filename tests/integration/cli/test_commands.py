"""Commands against a real server, called as the console script calls them."""

import io
import json
import re

import pytest
import redis

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.models import JobState
from queuepool.verbs.owner import verbs as own
from tests.conftest import ServerFactory, server_engines
from tests.docs.test_security import granted
from tests.integration.cli.jobs import KEY, bury, own_partition, write
from tests.shell import Shell

# -- bulk ------------------------------------------------------------------------------------------


def test_each_row_of_a_file_becomes_a_job_in_order(shell: Shell, pool: QueuePool) -> None:
    rows = [f"{n},name {n}" for n in range(1234)]
    file = write("rows.csv", "\n".join(["number,name", *rows]) + "\n")

    assert shell.run("bulk", file, "--task", "t", "--key", KEY, "--json") == Exit.OK

    (summary,) = shell.lines
    assert (summary["rows"], summary["enqueued"]) == (1234, 1234)
    group = pool.group(KEY)
    assert group.status().total == 1234
    assert summary["partition"] == group.partition.number
    owned = own_partition(pool, group.partition.number)
    verb = own.claim(owned.ownership, 2, starting=2, promote_after_ms=60_000, weights=(6, 3, 2, 1))
    first, second = owned.run(verb).bodies
    assert b'{"number":"0","name":"name 0"}' in first
    assert b'{"number":"1","name":"name 1"}' in second


def test_one_bad_row_and_nothing_is_enqueued(shell: Shell, pool: QueuePool) -> None:
    file = write("rows.csv", "a,b\n" + "1,2\n" * 9000 + "1\n")

    assert shell.run("bulk", file, "--task", "t", "--key", KEY) == Exit.USAGE

    assert "line 9002: 1 fields" in shell.err
    assert "nothing of rows.csv was enqueued" in shell.err
    assert pool.group(KEY).status().total == 0


def test_a_row_that_is_too_large_is_found_before_the_first_is_enqueued(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_MAX_PAYLOAD_BYTES", "100")
    file = write("rows.jsonl", '{"a": "b"}\n' + json.dumps({"a": "b" * 200}) + "\n")

    assert shell.run("bulk", file, "--task", "t", "--key", KEY) == Exit.USAGE

    assert "line 2: the job takes" in shell.err
    assert pool.group(KEY).status().total == 0


def test_rows_from_standard_input_stop_at_the_bad_one_and_say_how_to_go_on(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = io.TextIOWrapper(io.BytesIO(b'{"n": 1}\n' * 5000 + b"oops\n"))
    monkeypatch.setattr("sys.stdin", text)

    code = shell.run("bulk", "-", "--format", "jsonl", "--task", "t", "--key", KEY)

    assert code == Exit.USAGE
    assert "line 5001: not valid JSON" in shell.err
    assert (
        "the first 5,000 rows are enqueued; fix the row and continue with --skip 5000" in shell.err
    )
    assert pool.group(KEY).status().total == 5000


def test_skipped_rows_are_not_enqueued(shell: Shell, pool: QueuePool) -> None:
    file = write("rows.csv", "a\n1\n2\n3\n")

    assert shell.run("bulk", file, "--task", "t", "--key", KEY, "--skip", "2") == Exit.OK
    assert pool.group(KEY).status().total == 1
    assert shell.run("bulk", file, "--task", "t", "--key", KEY, "--skip", "3") == Exit.USAGE


def test_a_full_partition_tells_exactly_which_rows_are_in(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_MAX_DEPTH", "1000")
    file = write("rows.csv", "a\n" + "1\n" * 1500)

    code = shell.run("bulk", file, "--task", "t", "--key", KEY, "--wait-when-full", "0")

    assert code == Exit.UNAVAILABLE
    total = pool.group(KEY).status().total
    assert (
        700 <= total <= 1000
    )  # chunks are refused whole, and their size is the library's business
    assert f"exactly the first {total:,} rows are enqueued" in shell.err
    assert f"--skip {total}\n" in shell.err


def test_waiting_without_a_consumer_says_so_and_times_out(shell: Shell) -> None:
    file = write("rows.csv", "a\n1\n")

    words = ("bulk", file, "--task", "t", "--key", KEY, "--wait", "--timeout", "50ms")

    assert shell.run(*words) == Exit.FAILED
    assert "has no consumer" in shell.err


def test_no_server_is_one_line_with_the_ways_to_get_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUEUEPOOL_URL")

    assert shell.run("status") == Exit.USAGE
    assert shell.err.count("\n") == 1
    assert "QUEUEPOOL_URL" in shell.err
    assert "queuepool up" in shell.err


def test_a_server_that_is_away_is_told_from_a_mistake(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_URL", "redis://127.0.0.1:1/0")

    assert shell.run("group", "show", "x") == Exit.UNAVAILABLE
    assert "Traceback" not in shell.err


# -- hold, release ---------------------------------------------------------------------------------


def test_a_group_is_held_shown_and_released(shell: Shell, pool: QueuePool) -> None:
    job = pool.enqueue("t", partition_key="bulk-42")

    assert shell.run("hold", "group", "bulk-42") == Exit.OK
    assert "group bulk-42 is held now" in shell.out
    assert shell.run("hold", "group", "bulk-42") == Exit.OK
    assert "group bulk-42 was held before" in shell.out
    assert shell.run("group", "show", "bulk-42") == Exit.OK
    assert "held       since" in shell.out
    assert "queuepool release group bulk-42" in shell.out
    shell.run("status")
    assert (
        f"partition {job.partition}: 1 jobs wait in groups or of tenants that are held" in shell.out
    )
    assert shell.run("release", "group", "bulk-42") == Exit.OK
    assert "group bulk-42 is released now" in shell.out
    assert shell.run("group", "show", "bulk-42", "--json") == Exit.OK
    assert shell.lines[-1]["held_ms"] is None


def test_parked_jobs_are_shown_with_what_they_wait_for(shell: Shell, pool: QueuePool) -> None:
    job = pool.enqueue("t", partition_key="bulk-42", limit="mail")

    shell.run("status")
    assert f"partition {job.partition}: 1 jobs wait for their limits" in shell.out
    shell.run("status", "--json")
    assert shell.lines[-1]["totals"]["parked"] == 1
    assert shell.run("group", "show", "bulk-42") == Exit.OK
    assert re.search(r"parked +1$", shell.out, re.MULTILINE)
    assert shell.run("job", "show", job.job_id, "--key", "bulk-42") == Exit.OK
    assert re.search(r"state +parked$", shell.out, re.MULTILINE)


def test_a_group_is_configured(shell: Shell, pool: QueuePool) -> None:
    pool.enqueue("t", partition_key="bulk-42")

    assert shell.run("group", "configure", "bulk-42", "--max-running", "3") == Exit.OK
    assert "configured" in shell.out
    assert shell.run("group", "show", "bulk-42") == Exit.OK
    assert "max_running  3" in shell.out
    assert shell.run("group", "configure", "bulk-42", "--serial", "--json") == Exit.OK
    assert (shell.lines[-1]["max_running"], shell.lines[-1]["serial"]) == (3, True)
    assert shell.run("group", "configure", "bulk-42", "--serial") == Exit.OK
    assert "unchanged: it had these settings already" in shell.out
    assert shell.run("group", "configure", "bulk-42", "--no-serial", "--max-running", "0") == 0
    assert pool.group("bulk-42").status().max_running is None
    assert shell.run("group", "configure", "bulk-42", "--weight", "3") == Exit.OK
    assert shell.run("group", "show", "bulk-42") == Exit.OK
    assert re.search(r"weight +3$", shell.out, re.MULTILINE)
    assert shell.run("group", "configure", "bulk-42", "--weight", "0") == Exit.USAGE
    assert shell.run("group", "configure", "bulk-42", "--tier", "critical") == Exit.OK
    assert shell.run("group", "show", "bulk-42", "--watch", "0s") == Exit.OK
    assert re.search(r"tier +critical$", shell.out, re.MULTILINE)
    assert shell.run("group", "configure", "bulk-42", "--tier", "own") == Exit.OK
    assert shell.run("group", "show", "bulk-42", "--watch", "0s") == Exit.OK
    assert "tier" not in shell.out
    assert shell.run("group", "configure", "bulk-42") == Exit.USAGE


def test_partitions_are_held_and_released(shell: Shell, pool: QueuePool) -> None:
    assert shell.run("hold", "partition", "2") == Exit.OK
    assert "partition 2 is held now" in shell.out
    shell.run("status")
    assert "start them with `queuepool release partition 2`" in shell.out
    assert shell.run("hold", "all", "--json") == Exit.OK
    count = pool.config.topology.partitions
    assert shell.lines[-1] == {"what": "all", "name": None, "changed": count - 1}
    assert shell.run("release", "all") == Exit.OK
    assert f"{count} partitions released" in shell.out
    assert shell.run("release", "all") == Exit.OK
    assert "nothing changed" in shell.out


@pytest.mark.parametrize(
    "words", [("all", "2"), ("group",), ("partition",), ("partition", "x"), ("partition", "99")]
)
def test_what_is_to_be_held_must_be_named(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run("hold", *words) == Exit.USAGE


# -- jobs, groups, dead ----------------------------------------------------------------------------


def test_a_job_is_shown_and_cancelled(shell: Shell, pool: QueuePool) -> None:
    job_id = pool.enqueue("t", {"n": 1}, partition_key=KEY).job_id

    assert shell.run("job", "show", job_id, "--key", KEY, "--json") == Exit.OK
    assert shell.lines[0]["state"] == "ready"
    assert shell.run("job", "cancel", job_id, "--key", KEY) == Exit.OK
    assert pool.status(job_id, partition_key=KEY).state is JobState.CANCELLED
    assert shell.run("job", "cancel", job_id, "--key", KEY) == Exit.FAILED
    assert shell.run("job", "show", "never-seen", "--key", KEY) == Exit.FAILED


def test_a_job_is_shown_and_cancelled_by_its_id_alone(shell: Shell, pool: QueuePool) -> None:
    job_id = pool.enqueue("t", {"n": 1}, partition_key=KEY).job_id
    pool.enqueue("t", {}, partition_key=KEY, job_id="mine-7")

    for known in (job_id, "mine-7"):
        assert shell.run("job", "show", known, "--json") == Exit.OK
        assert (shell.lines[0]["state"], shell.lines[0]["group"]) == ("ready", KEY)
        assert shell.run("job", "cancel", known) == Exit.OK
        assert pool.status(known, partition_key=KEY).state is JobState.CANCELLED
    assert shell.run("job", "show", "never-seen") == Exit.FAILED
    assert "never-seen is unknown" in shell.err


def test_an_id_that_two_partitions_have_needs_its_key(shell: Shell, pool: QueuePool) -> None:
    keys = {pool.enqueue("t", {}, partition_key=k, job_id="x").partition: k for k in "abcdefgh"}
    assert len(keys) > 1

    assert shell.run("job", "cancel", "x") == Exit.USAGE
    assert "--key" in shell.err
    assert shell.run("job", "cancel", "x", "--key", "a") == Exit.OK


def test_a_group_is_shown_and_cancelled(shell: Shell, pool: QueuePool) -> None:
    pool.enqueue_many("t", [{}] * 7, partition_key=KEY)

    assert shell.run("group", "show", KEY, "--json") == Exit.OK
    assert (shell.lines[0]["total"], shell.lines[0]["ready"]) == (7, 7)
    assert shell.run("group", "cancel", KEY, "--json") == Exit.OK
    assert shell.lines[0]["cancelled"] == 7
    assert shell.run("group", "wait", KEY, "--timeout", "5s") == Exit.OK
    assert shell.run("group", "cancel", KEY) == Exit.OK, "all have ended"
    for action in ("show", "cancel"):
        for more in ((), ("--json",)):
            assert shell.run("group", action, "other", *more) == Exit.FAILED
            assert "no jobs with the key 'other'" in shell.err
            assert shell.out == ""


def test_dead_jobs_are_listed_with_payload_and_error(shell: Shell, pool: QueuePool) -> None:
    ids = bury(pool, KEY, 3)

    assert shell.run("dead", "list", "--json") == Exit.OK
    assert sorted(d["job_id"] for d in shell.lines) == sorted(ids)
    assert {d["error"] for d in shell.lines} == {"boom"}
    assert shell.run("dead", "list") == Exit.OK
    assert "ValueError: boom" in shell.out
    assert shell.run("dead", "show", ids[1], "--json") == Exit.OK
    assert shell.lines[0]["payload"] == {"n": 1}
    assert shell.run("dead", "show", "unknown") == Exit.FAILED


def test_replay_takes_what_the_filters_leave_and_nothing_by_accident(
    shell: Shell, pool: QueuePool
) -> None:
    bury(pool, "a", 3, "timeout of x")
    bury(pool, "b", 2, "no such user")

    assert shell.run("dead", "replay") == Exit.USAGE
    assert shell.run("dead", "replay", "--error", "Timeout", "--json") == Exit.OK
    assert shell.lines == [{"replayed": 3}]
    assert pool.group("a").status().ready == 3
    assert pool.group("b").status().dead == 2
    assert shell.run("dead", "replay", "unknown-id") == Exit.FAILED
    assert shell.run("dead", "replay", "--all", "--json") == Exit.OK
    assert shell.lines == [{"replayed": 2}]


def test_more_dead_jobs_than_one_page_are_all_replayed(shell: Shell, pool: QueuePool) -> None:
    for _ in range(3):
        bury(pool, KEY, 180)

    assert shell.run("dead", "replay", "--key", KEY, "--json") == Exit.OK
    assert shell.lines == [{"replayed": 540}]


def test_discarding_asks_first(
    shell: Shell, pool: QueuePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bury(pool, KEY, 2)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))

    assert shell.run("dead", "discard", "--all") == Exit.USAGE
    assert "--yes" in shell.err
    assert pool.group(KEY).status().dead == 2
    assert shell.run("dead", "discard", "--all", "--yes", "--json") == Exit.OK
    assert shell.lines == [{"discarded": 2}]
    assert shell.run("dead", "list") == Exit.OK
    assert shell.out == "no dead jobs\n"


def test_an_empty_error_is_refused_and_does_not_match_all(shell: Shell, pool: QueuePool) -> None:
    bury(pool, KEY, 2)

    for action in (["dead", "discard", "--yes"], ["dead", "replay"], ["job", "find", "--count"]):
        with pytest.raises(SystemExit) as refused:
            shell.run(*action, "--error", "")
        assert refused.value.code == Exit.USAGE
    assert pool.group(KEY).status().dead == 2


def test_an_audit_of_a_sound_partition_is_clean(shell: Shell, pool: QueuePool) -> None:
    pool.enqueue_many("t", [{}] * 20, partition_key=KEY)

    assert shell.run("audit", "--json") == Exit.OK
    assert all(report["clean"] for report in shell.lines[0])


# -- check -----------------------------------------------------------------------------------------


def test_check_finds_a_good_server_good(shell: Shell) -> None:
    assert shell.run("check", "--json") == Exit.OK
    assert shell.lines[0]["ok"]
    assert any(
        "every function that queuepool uses" in f["text"] for f in shell.lines[0]["findings"]
    )


def test_check_tells_every_problem_of_server_and_settings_at_once(
    shell: Shell, server_factory: ServerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_factory(extra_args=("--maxmemory-policy", "allkeys-lru"))
    monkeypatch.setenv("QUEUEPOOL_URL", server.url)
    monkeypatch.setenv("QUEUEPOOL_STAEG", "prod")

    assert shell.run("check") == Exit.FAILED
    assert "QUEUEPOOL_STAEG is set, but" in shell.out
    assert "CONFIG SET maxmemory-policy noeviction" in shell.out
    assert "a restart of the server loses jobs" in shell.out


def test_check_names_the_rights_that_are_missing(
    shell: Shell, server_factory: ServerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    acl = ("--user", "weak", "on", ">secret", "~*", "&*", "+@all", "-zadd", "-config")
    server = server_factory(extra_args=acl)
    monkeypatch.setenv("QUEUEPOOL_URL", server.url.replace("redis://", "redis://weak:secret@"))

    assert shell.run("check") == Exit.FAILED
    assert "user weak may not call ZADD" in shell.out
    assert "secret" not in shell.out + shell.err


def test_the_rights_of_the_security_page_pass_the_check(
    shell: Shell, server_factory: ServerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_factory()
    with redis.Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "queuepool", *granted())
    monkeypatch.setenv("QUEUEPOOL_STAGE", "dev")
    monkeypatch.setenv("QUEUEPOOL_URL", server.url.replace("//", "//queuepool:PASSWORD@"))

    assert shell.run("check") == Exit.OK, shell.out


def test_check_of_settings_that_cannot_work_is_a_usage_error(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_PARTITIONS", "0")
    monkeypatch.setenv("QUEUEPOOL_TIMEOUT_S", "-1")

    assert shell.run("check") == Exit.USAGE
    assert "QUEUEPOOL_PARTITIONS" in shell.out
    assert "QUEUEPOOL_TIMEOUT_S" in shell.out


def test_check_of_a_server_that_is_away_names_the_remedy(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_URL", "redis://127.0.0.1:1/0")

    assert shell.run("check") == Exit.UNAVAILABLE
    assert "does not respond" in shell.out


@pytest.mark.skipif(len(server_engines()) < 2, reason="only the bundled server is here")
def test_every_engine_here_passes_the_check(
    shell: Shell, engine_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUEPOOL_URL", engine_url)

    assert shell.run("check") == Exit.OK, shell.out


# -- tenant ----------------------------------------------------------------------------------------


def test_a_tenant_is_held_shown_weighed_and_released(shell: Shell, pool: QueuePool) -> None:
    pool.enqueue("t", partition_key="k", tenant="acme")
    for said in ("tenant acme is held now", "nothing changed"):
        assert shell.run("tenant", "hold", "acme") == Exit.OK
        assert said in shell.out
    assert shell.run("tenant", "configure", "acme", "--weight", "3", "--json") == Exit.OK
    assert shell.lines[-1] == {"tenant": "acme", "changed": True}
    shell.run("tenant", "show", "acme")
    assert "queuepool tenant release acme" in shell.out
    shell.run("tenant", "release", "acme")
    shell.run("tenant", "show", "acme", "--json")
    ends = dict.fromkeys(("done", "died", "cancelled", "expired"), 0)
    known = {"ready": 1, "running": 0, "groups": 1, "held_ms": None, "weight": 3}
    assert shell.lines[-1] == {"tenant": "acme", "max_running": None} | known | ends
    shell.run("tenant", "configure", "acme", "--max-running", "5", "--json")
    shell.run("status")
    assert "tenant acme 1 (0 in flight)" in shell.out
    assert shell.run("tenant", "configure", "acme", "--weight", "0") == Exit.USAGE
    assert shell.run("tenant", "configure", "acme") == Exit.USAGE


def test_jobs_of_a_tenant_are_shown_with_it(shell: Shell, pool: QueuePool) -> None:
    job = pool.enqueue("t", partition_key="k", tenant="acme", delay_s=60)
    shell.run("job", "show", job.job_id)
    assert "acme" in shell.out
    shell.run("job", "show", job.job_id, "--json")
    assert (shell.lines[-1]["tenant"], shell.lines[-1]["group"]) == ("acme", "k")
    shell.run("group", "show", "k", "--tenant", "acme", "--json")
    assert shell.lines[-1]["delayed"] == 1
    assert shell.run("hold", "group", "k", "--tenant", "acme") == Exit.OK
    assert shell.run("group", "configure", "k", "--tenant", "acme", "--weight", "2") == Exit.OK
    shell.run("group", "show", "k", "--tenant", "acme", "--json")
    assert (shell.lines[-1]["held_ms"] is not None, shell.lines[-1]["weight"]) == (True, 2)
    assert shell.run("hold", "all", "--tenant", "acme") == Exit.USAGE
    file = write("rows.csv", "a\n1\n2\n")
    words = ("bulk", file, "--task", "t", "--key", "k", "--tenant", "acme", "--json")
    assert shell.run(*words) == Exit.OK
    assert pool.group("k", tenant="acme").status().total == 3
