"""What `queuepool what-if` and `shadow` print, and sizes that people type."""

from __future__ import annotations

import argparse
import math
from typing import Any

import pytest

from queuepool.cli.commands.what_if import _rate
from queuepool.cli.display.shadows import compared, in_short
from queuepool.cli.display.sizes import parse_size
from queuepool.cli.display.view import PartitionRow
from queuepool.cli.display.what_if import with_most, with_rate
from queuepool.errors import UnavailableError

LOST = "server big: TimeoutError: no answer."


def row(**more: Any) -> PartitionRow:
    found: dict[str, Any] = {
        "partition": 0,
        "backlog": 9_936,
        "in_flight": 64,
        "workers": 64,
        "target": 64,
    }
    found |= {"owner": "host:1", "lease_ms": 900, "service_s": 0.12}
    return PartitionRow(server="main", **{"parked": 400} | found | more)


def test_twice_the_workers_end_in_half_the_time() -> None:
    now, more, fewer = (with_most([row()], most) for most in (None, 128, 32))

    assert (now.workers, more.workers, fewer.workers) == (64, 128, 32)
    assert now.eta is not None
    assert more.eta is not None
    assert fewer.eta is not None
    assert more.eta.likely_s == pytest.approx(now.eta.likely_s / 2, rel=0.05)
    assert fewer.eta.likely_s == pytest.approx(now.eta.likely_s * 2, rel=0.05)
    assert now.line().startswith(
        "now: 10,000 jobs with 64 workers end in 13s to 28s (80 %), likely 19s"
    )


def test_many_partitions_that_drain_end_later_than_each_of_them() -> None:
    draining = row(backlog=0, in_flight=8, workers=8, target=8, service_s=1.0)

    one, many = with_most([draining], None).eta, with_most([draining] * 64, None).eta

    assert one is not None
    assert many is not None
    assert many.likely_s == pytest.approx(math.log(64 * 8 / math.log(2)), rel=0.01)
    assert many.low_s > one.likely_s


def test_no_more_workers_come_than_the_backlog_needs() -> None:
    assert with_most([row(backlog=0, in_flight=3)], 500).workers == 64
    assert with_most([row(backlog=1_000)], 500).workers == 124
    assert "unknown" in with_most([row(service_s=0.0)], 128).line()


@pytest.mark.parametrize("most", [None, 128])
def test_jobs_that_nobody_runs_have_no_end(most: int | None) -> None:
    left = row(partition=1, owner="", lease_ms=0)
    silent = row(partition=2, lease_ms=-1)
    idle = row(partition=3, owner="", backlog=0, in_flight=0)

    one, two = with_most([row(), left, idle], most), with_most([left, silent], most)

    assert one.eta is None
    assert one.line().endswith(" workers end at an unknown time: partition 1 has no owner")
    assert one.plain()["reason"] == "partition 1 has no owner"
    assert two.line().endswith(": partitions 1, 2 have no owner")
    assert with_most([row(), idle], most).eta is not None


def test_a_server_that_does_not_answer_leaves_the_end_unknown() -> None:
    lost = PartitionRow(partition=1, server="big", problem=f"{LOST} {UnavailableError.UNCERTAIN}")

    now, limited = with_most([row(), lost], None), with_rate([row(), lost], "mail", 4.0, "at 4/s")

    cause = f"partition 1 cannot be read: {LOST}"
    assert now.eta is None
    assert now.line() == f"now: an unknown number of jobs end at an unknown time: {cause}"
    assert (limited.eta, limited.reason, limited.complete) == (None, cause, False)
    some = with_most([lost] * 7, None)
    assert "partitions 1, 1, 1, 1, 1 and 2 more cannot be read: server big" in some.line()


def test_jobs_of_a_limit_that_nobody_runs_have_no_end() -> None:
    answer = with_rate([row(), row(partition=1, owner="")], "mail", 40.0, "at 40/s")

    assert answer.eta is None
    assert answer.line().endswith("end at an unknown time: partition 1 has no owner")
    assert with_rate([row(), row(owner="", parked=0)], "mail", 40.0, "at 40/s").eta is not None


def test_parked_jobs_start_at_the_rate_of_the_limit() -> None:
    answer = with_rate([row(), row()], "mail", 40.0, "at 40/s")

    assert answer.line().startswith("at 40/s of limit mail: 800 jobs end in ")
    assert answer.eta is not None
    assert answer.eta.likely_s == pytest.approx(20 + 0.12 * 2, abs=0.1)
    assert with_rate([row()], "mail", None, "now").eta is None


def test_jobs_that_wait_for_other_limits_are_not_counted() -> None:
    answer = with_rate([row()], "mail", 40.0, "at 40/s", 80)

    assert answer.line().startswith("at 40/s of limit mail: 80 jobs end in ")
    assert answer.eta is not None
    assert 2.0 < answer.eta.likely_s < 2.5


def test_at_any_rate_jobs_take_their_time() -> None:
    answer = with_rate([row(service_s=60.0)], "mail", 1e6, "at 1000000/s")

    assert answer.eta is not None
    assert answer.eta.low_s > 60


def test_a_rate_is_typed_with_its_time() -> None:
    assert _rate("mail=40/s") == ("mail", 40.0, "40/s")
    assert _rate("a:b=90/m")[1] == 1.5
    for text in ("mail", "mail=40", "mail=0/s", "mail=-1/s", "=4/s", "mail=4/d", "x y=4/s"):
        with pytest.raises(argparse.ArgumentTypeError, match="write NAME=RATE"):
            _rate(text)


def test_a_size_is_typed_with_its_unit() -> None:
    assert [parse_size(text) for text in ("500kB", "20MB", "1.5gb", "4000")] == [
        500_000, 20_000_000, 1_500_000_000, 4_000,
    ]  # fmt: skip
    for text in ("", "MB", "20 miles", "-1MB", "1k", "9", "5000000GB"):
        with pytest.raises(ValueError, match=r"size|use 1kB"):
            parse_size(text)


def test_a_comparison_is_a_small_table() -> None:
    live = {"worker_s": 7200.0, "wait_mean_s": 1.0, "wait_p50_s": 0.0, "wait_p99_s": 7.1}
    found = {
        "policy": "pwqd", "seconds": 3600.0, "jobs": 86_400.0,
        "live": live | {"changes": 9}, "candidate": live | {"worker_s": 9000.0, "changes": 1_200},
    }  # fmt: skip

    head, _rule, first, second, sentence = compared(found, 80)

    assert head.split() == ["policy", "worker", "hours", "mean", "wait", "p50", "p99", "changes"]
    assert first.split() == ["as", "it", "was", "2.00", "1.0", "s", "0.0", "s", "7.1", "s", "9"]
    assert second.split() == ["pwqd", "2.50", "1.0", "s", "0.0", "s", "7.1", "s", "1,200"]
    assert len(head) == len(first) == len(second)
    assert sentence.startswith("pwqd would have cost 125% of the actual cost, over 1h")
    assert in_short(found).startswith("shadow pwqd: 125% of the cost, p99 wait 7.1 s instead")
