"""`queuepool status`, `watch` and `scale` against a real server."""

from types import SimpleNamespace

import pytest

from queuepool import QueuePool
from queuepool.cli.commands import watch
from queuepool.cli.exits import Exit
from queuepool.verbs.owner import verbs as own
from tests.integration.cli.jobs import KEY, own_partition
from tests.shell import Shell
from tests.waiting import wait_until


def test_status_shows_backlog_and_owner(shell: Shell, pool: QueuePool) -> None:
    pool.enqueue_many("t", [{}] * 30, partition_key=KEY)
    number = pool.group(KEY).partition.number
    own_partition(pool, number)

    assert shell.run("status", "--json") == Exit.OK

    (seen,) = shell.lines
    assert seen["totals"]["backlog"] == 30
    assert [p["owner"] for p in seen["partitions"] if p["owned"]] == ["tester:1"]
    assert seen["leader"] is None


def test_status_succeeds_when_every_partition_has_an_owner(shell: Shell, pool: QueuePool) -> None:
    assert shell.run("status") == Exit.UNATTENDED
    assert shell.out.count("nobody") == 4

    for number in range(4):
        own_partition(pool, number)
    assert shell.run("status") == Exit.OK  # though no coordinator leads: all jobs run
    assert "no coordinator leads" in shell.out

    owned = pool.partition(2).acquire(lease_s=60, host="later:1", nonce="other")
    assert isinstance(owned, own.Held)


def test_an_idle_partition_needs_no_owner_as_long_as_a_consumer_runs(
    shell: Shell, pool: QueuePool
) -> None:
    busy = pool.group(KEY).partition.number
    own_partition(pool, (busy + 1) % 4)
    assert shell.run("status") == Exit.OK

    pool.enqueue("t", {}, partition_key=KEY)
    assert shell.run("status") == Exit.UNATTENDED

    own_partition(pool, busy)
    assert shell.run("status") == Exit.OK


def test_a_delayed_job_that_is_due_needs_an_owner(shell: Shell, pool: QueuePool) -> None:
    busy = pool.group(KEY).partition.number
    own_partition(pool, (busy + 1) % 4)
    pool.enqueue("t", {}, partition_key=KEY, delay_s=3600)
    assert shell.run("status") == Exit.OK

    pool.enqueue("t", {}, partition_key=KEY, delay_s=0.001)
    wait_until(lambda: shell.run("status") == Exit.UNATTENDED)


def test_watch_prints_a_line_an_interval_where_there_is_no_terminal(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses_s: list[float] = []

    class Pause:
        def wait(self, seconds: float) -> None:
            """End at the third pause, as Ctrl-C would."""
            pauses_s.append(seconds)
            if len(pauses_s) == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(watch, "threading", SimpleNamespace(Event=Pause))

    assert shell.run("watch", "--interval", "30s") == Exit.OK
    lines = shell.out.splitlines()
    assert shell.run("watch", "--interval", "100ms", "--for", "1ms") == Exit.OK

    assert len(shell.out.splitlines()) == 1
    assert len(lines) == len(pauses_s) == 3
    assert all(0 < pause_s <= 30 for pause_s in pauses_s)
    assert all(line.startswith("backlog 0 workers 0/0") and "\x1b" not in line for line in lines)


def test_a_manual_count_is_set_shown_and_cleared(shell: Shell) -> None:
    assert shell.run("scale", "2", "24", "--for", "10m", "--json") == Exit.OK
    assert shell.lines[0]["workers"] == 24
    assert "no coordinator leads" in shell.err

    shell.run("status", "--json")
    by_hand = {p["partition"]: p["manual_until_ms"] for p in shell.lines[0]["partitions"]}
    assert by_hand[2]
    assert not by_hand[1]

    assert shell.run("scale", "2", "--auto") == Exit.OK
    shell.run("status", "--json")
    assert not any(p["manual_until_ms"] for p in shell.lines[0]["partitions"])


def test_more_workers_than_any_setting_allows_are_refused(shell: Shell) -> None:
    assert shell.run("scale", "1", "5000") == Exit.USAGE
    assert "4,096" in shell.err
    assert "CONSUMER_MAX_WORKERS" in shell.err

    assert shell.run("scale", "1", "2400") == Exit.OK
    assert "at most COORDINATOR_MAX_WORKERS and CONSUMER_MAX_WORKERS are applied" in shell.err


@pytest.mark.parametrize(
    "words", [("2",), ("2", "3", "--auto"), ("99", "3"), ("1", "3", "--for", "0")]
)
def test_scaling_what_makes_no_sense_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run("scale", *words) == Exit.USAGE


def test_a_consumer_that_drains_is_shown_until_it_has_ended(shell: Shell, pool: QueuePool) -> None:
    assert shell.run("drain", "2") == Exit.FAILED
    assert "no consumer owns partition 2" in shell.err
    owned = own_partition(pool, 2)

    assert shell.run("drain", "2", "--reason", "a new machine") == Exit.OK
    assert shell.out.startswith("tester:1 drains: its 0 running jobs end")
    assert shell.run("status") == Exit.OK
    assert "partition 2: a consumer drains: " in shell.out
    assert "nobody has taken over yet" not in shell.out
    (entry,) = [one for one in pool.log() if one.what == "drain" and "asked" in one.outcome]
    assert (entry.subject, entry.outcome) == ("partition 2", "tester:1 was asked to end")

    owned.run(own.release(owned.ownership, drain_lease_ms=0))
    shell.run("status")
    assert "drains" not in shell.out
