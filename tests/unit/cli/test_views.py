"""What operators see, and which dead jobs a command means."""

import argparse
import math
import time
from dataclasses import asdict
from typing import Any

import pytest

from queuepool.cli.display.board import Board, plain_line
from queuepool.cli.display.output import console
from queuepool.cli.display.view import ClusterView, PartitionRow, as_json, with_rates
from queuepool.cli.inspection.dead_jobs import filter_of
from queuepool.models import DeadJob, ErrorRecord, Eta, JobId
from queuepool.models.eta import Pace, foretell


def row(partition: int = 0, **known: Any) -> PartitionRow:
    return PartitionRow(partition=partition, server="main", **known)


def view(*rows: PartitionRow, leader: str = "host:1", known: bool = True) -> ClusterView:
    return ClusterView(
        source="servers", leader=leader, leader_epoch=7, rows=rows, leader_known=known
    )


def drawn(seen: ClusterView, width: int, capsys: pytest.CaptureFixture[str]) -> str:
    board = Board()
    board.note(seen)
    console().print(board.draw(seen, sparks=True, width=width))
    return capsys.readouterr().out


def test_a_rate_needs_two_good_looks() -> None:
    before = {"0": row(ended=100, observed_ms=1000), "1": row(1, problem="away")}

    first, second, third = with_rates(
        [row(ended=150, observed_ms=1500), row(1, ended=9, observed_ms=1500), row(2)], before
    )

    assert (first.per_s, second.per_s, third.per_s) == (100.0, None, None)


def test_a_server_that_lost_writes_shows_no_negative_rate() -> None:
    (after,) = with_rates([row(ended=5, observed_ms=2000)], {"0": row(ended=9, observed_ms=1000)})

    assert after.per_s == 0


def test_totals_add_up_in_json() -> None:
    plain = as_json(view(row(backlog=12, workers=4, per_s=2.5), row(1, backlog=3, workers=2)))

    assert plain["totals"]["backlog"] == 15
    assert plain["totals"]["workers"] == 6
    assert plain["totals"]["per_s"] == 2.5
    assert [p["pwqd"] for p in plain["partitions"]] == [3.0, 1.5]


def test_the_table_tells_who_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    seen = view(
        row(owner="alpha:1", lease_ms=900, backlog=1234, workers=8),
        row(1, owner="beta:2", lease_ms=-5),
        row(2),
        leader="",
    )

    text = drawn(seen, 160, capsys)

    assert "1,234" in text
    assert "beta:2 (silent)" in text
    assert "nobody" in text
    assert "1 of 3 owned" in text
    assert "no coordinator leads" in text


def test_a_leader_that_could_not_be_asked_for_is_not_one_to_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = drawn(view(row(problem="away"), leader="", known=False), 160, capsys)

    assert "the leader is unknown: its server does not answer" in text
    assert "no coordinator leads" not in text
    assert "queuepool coordinator" not in text


def test_a_narrow_terminal_keeps_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    text = drawn(view(row(owner="alpha:1", lease_ms=900, epoch=5)), 80, capsys)

    assert "epoch" not in text.splitlines()[1]
    assert "workers over time" in text


def test_hostile_names_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    text = drawn(view(row(owner="\x1b[2Jx [red]y", lease_ms=1)), 160, capsys)

    assert "\x1b" not in text
    assert "[red]" in text


def test_a_plain_line_holds_every_partition() -> None:
    line = plain_line(view(row(owner="a", lease_ms=1, backlog=10, workers=8), row(1)))

    assert "p0:10/8w p1:0/0w!" in line


def test_a_plain_line_says_that_a_server_does_not_answer() -> None:
    cause = "server main: TimeoutError: no answer. " + "It is uncertain whether it ran. " * 9
    lost = row(owner="a", lease_ms=900, workers=8, per_s=40.0, problem=cause)

    one = plain_line(view(lost, row(1, per_s=2.0)))
    all_lost = plain_line(view(lost, leader="", known=False))

    assert one.startswith(
        "backlog 0 workers 8/0 busy 0 2/s | p0:0/8w? p1:0/0w! | server main: Time"
    )
    assert one.endswith("…")
    assert len(one) < 200
    assert all_lost.startswith("backlog 0 workers 8/0 busy 0 | p0:0/8w? | server main: TimeoutErr")
    assert "no leader" not in all_lost


def test_a_plain_line_says_that_nobody_leads() -> None:
    owned = row(owner="a", lease_ms=900)

    assert plain_line(view(owned, leader="")).endswith(" | p0:0/0w | no leader")
    assert plain_line(view(owned)).endswith(" | p0:0/0w")
    assert plain_line(view(row(problem="away"), leader="")).endswith("w? | away | no leader")


def dead_job(**changes: Any) -> DeadJob:
    known: dict[str, Any] = {
        "job_id": JobId("a1"),
        "partition": 0,
        "died_ms": int((time.time() - 3600) * 1000),
        "task": "send",
        "group": b"promo",
        "attempts": 5,
        "crashes": 0,
        "error": ErrorRecord(reason="failed", type="ValueError", message="No such User"),
        "payload": {},
    }
    return DeadJob(**(known | changes))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, True),
        ({"ids": ["a1", "b2"]}, True),
        ({"ids": ["b2"]}, False),
        ({"task": "send"}, True),
        ({"task": "sen"}, False),
        ({"key": "promo"}, True),
        ({"key": "other"}, False),
        ({"tenant": "acme"}, False),
        ({"error": "no such user"}, True),
        ({"error": "valueerror: no"}, True),
        ({"error": "timeout"}, False),
        ({"task": "send", "error": "timeout"}, False),
    ],
)
def test_a_dead_job_is_meant_when_all_filters_agree(
    filters: dict[str, Any], expected: bool
) -> None:
    names = ("task", "key", "tenant", "error", "older_than", "partition")
    given = argparse.Namespace(**({"ids": []} | dict.fromkeys(names) | filters))

    groups = None if given.key is None else frozenset([given.key.encode()])
    assert filter_of(given, groups)(dead_job()) is expected


def test_the_estimate_of_all_is_of_all_running_jobs_together() -> None:
    eta = foretell(8, 8, Pace(60, 60.0))
    rows = [row(n, in_flight=8, workers=8, target=8, eta=eta, service_s=1.0) for n in range(64)]

    total = view(*rows).eta

    assert eta is not None
    assert total is not None
    assert total.likely_s == pytest.approx(math.log(64 * 8 / math.log(2)), rel=0.01)
    assert as_json(view(*rows))["eta"] == asdict(total)
    assert asdict(total).keys() == {"low_s", "likely_s", "high_s", "confidence"}
    assert view(*rows, row(64, in_flight=8)).eta is None


def test_an_estimate_says_which_jobs_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    eta = Eta(low_s=5.0, likely_s=7.0, high_s=10.0)

    assert "(80 %), likely 7.0s\n" in drawn(view(row(eta=eta)), 120, capsys)
    parked = drawn(view(row(eta=eta, parked=3)), 120, capsys)
    both = drawn(view(row(eta=eta, parked=3, capped=1)), 120, capsys)

    said = " ".join(parked.split())
    assert "likely 7.0s, except those that wait for limits led by" in said
    assert "that wait for limits or others of their group" in " ".join(both.split())
