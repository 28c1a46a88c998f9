"""What `status`, `watch`, `dead`, `group`, `job` and `limit` print at 60, 80 and 120 columns.

The pictures are in snapshots/; SNAPSHOTS=write makes them again, and the difference is for review.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from queuepool.cli.commands import dead, group, job
from queuepool.cli.display import fields, limits
from queuepool.cli.display.board import Board
from queuepool.cli.display.output import console, print_lines
from queuepool.cli.display.tables import draw
from queuepool.cli.display.view import ClusterView, PartitionRow
from queuepool.models import (
    DeadJob,
    ErrorRecord,
    GroupStatus,
    JobId,
    JobState,
    JobStatus,
    Limit,
    LimitStatus,
    Tier,
)

HERE = Path(__file__).with_name("snapshots")
NOW_S = 1_800_000_000.0
LONG_ID = "order-" + "0123456789" * 5 + "abcdefgh"  # 64 characters
LONG_GROUP = "import of the customers of Zürich and 東京, 2026-11-22, part 🦆"
OWNER = "queuepool-consumer-7d9f8b6c5d-x2x9z:12345"
PROSE = "the provider answered 503 Service Unavailable, and so it did " * 4


def view() -> ClusterView:
    owned: dict[str, Any] = {"owner": OWNER, "lease_ms": 900, "epoch": 1_799_999_999_000}
    busy: dict[str, Any] = {
        "backlog": 5_000_000,
        "workers": 64,
        "target": 512,
        "busy": 64,
        "dead": 100_000,
    }
    rows = (
        PartitionRow(partition=0, server="main", **owned, **busy, oldest_s=3700.0, per_s=12345.6),
        PartitionRow(partition=7, server="main", owner="b:1", lease_ms=-5, workers=8, target=8),
        PartitionRow(partition=1023, server="big", problem="big: no answer in 5 s"),
        PartitionRow(
            partition=4095, server="big", **owned, workers=24, target=24, per_s=0.0,
            manual_until_ms=int(NOW_S * 1000) + 540_000,
        ),
    )  # fmt: skip
    return ClusterView(source="servers", leader="", leader_epoch=0, rows=rows)


def error(message: str) -> ErrorRecord:
    traceback = "Traceback (most recent call last):\n  File x\n"
    return ErrorRecord(
        reason="failed", type="HTTPStatusError", message=message, traceback=traceback
    )


def died(job_id: str, group: str, task: str, message: str = PROSE) -> DeadJob:
    return DeadJob(
        job_id=JobId(job_id), partition=3, died_ms=int(NOW_S * 1000) - 180_000, task=task,
        group=group.encode(), attempts=5, crashes=0, payload={"id": 7, "ok": True, "s": "Zürich"},
        error=error(message),
    )  # fmt: skip


SHORT = [died("gD4.kPq0Zs_1xB", "import-1", "import_row"), died("mine-7", "k", "t", "short")]
LONG = [*SHORT, died(LONG_ID, LONG_GROUP, "billing.invoices.send_reminder_by_mail")]


def board(*, sparks: bool) -> None:
    drawn, screen = Board(), console()
    for _ in range(30):
        drawn.note(view())
    screen.print(drawn.draw(view(), sparks=sparks, width=screen.width))


def listed(found: list[DeadJob]) -> None:
    screen = console()
    print_lines(draw(dead.COLUMNS, [dead.cells(job) for job in found], screen.width), screen)


def group_shown() -> None:
    counts: dict[str, Any] = {
        "total": 1_000_000,
        "ready": 499_999,
        "delayed": 1,
        "in_flight": 64,
        "dead": 3,
    }
    status = GroupStatus(**counts, done=499_933, cancelled=0)
    group.print_group(status, argparse.Namespace(key=LONG_GROUP, json=False))


def job_shown() -> None:
    ms = int(NOW_S * 1000)
    fields.print_fields(
        job.fields_of(
            JobStatus(
                job_id=JobId(LONG_ID), state=JobState.DELAYED, partition=4095, task="t",
                tier=Tier.CRITICAL, group=LONG_GROUP.encode(), slot=17, enqueued_ms=ms - 60_000,
                at_ms=ms + 90_000, attempts=2, error=error(PROSE), progress="half of it",
                result={"n": 1, "s": "東京"},
            )
        )
    )  # fmt: skip


def limit(found: Limit, **state: Any) -> LimitStatus:
    counts = dict.fromkeys(
        ("granted", "granted_last_s", "wait_ms", "refused_ms", "running", "waiting", "askers"), 0
    )
    values = {"set": found, "declared": None, "paused_ms": 0, "pace": None} | counts | state
    return LimitStatus(name=found.name, **values)


LIMITS = [
    limit(Limit("mail", rate=20, concurrency=4), pace=20.0, running=4, waiting=12, granted=123_456),
    limit(
        Limit("account:" + "0123456789abcdef" * 3, rate=5000, per_s=3600, burst=100),
        pace=5000.0, paused_ms=int(NOW_S * 1000) - 60_000,
    ),
    limit(
        Limit("partner", rate="adaptive", least=2, most=90), pace=41.3, wait_ms=30_000,
        granted_last_s=41, refused_ms=int(NOW_S * 1000) - 5_000,
    ),
]  # fmt: skip


def limits_listed() -> None:
    screen = console()
    print_lines(draw(limits.COLUMNS, [limits.cells(one) for one in LIMITS], screen.width), screen)


def limit_shown() -> None:
    for one in LIMITS[1:]:
        fields.print_fields(limits.fields(one))


WHOLE = [LONG_ID, LONG_GROUP]
PICTURES: dict[str, tuple[Callable[[], None], list[str]]] = {
    "status": (lambda: board(sparks=False), ["0 ", "7 ", "1023", "4095", "5,000,000", "24/24"]),
    "watch": (lambda: board(sparks=True), ["0 ", "7 ", "1023", "4095", "5,000,000", "100,000"]),
    "dead-list": (lambda: listed(SHORT), ["gD4.kPq0Zs_1xB", "mine-7", "import_row", "failed"]),
    "dead-list-long": (lambda: listed(LONG), ["gD4.kPq0Zs_1xB", LONG_ID, LONG[2].task]),
    "dead-show": (lambda: dead.print_dead(LONG[2]), [*WHOLE, "(3m ago)", '"s": "Zürich"']),
    "group-show": (group_shown, [LONG_GROUP, "1,000,000", "50.0%"]),
    "limit-list": (limits_listed, [*(one.name for one in LIMITS), "4 at once", "told to wait 30s"]),
    "limit-show": (limit_shown, [LIMITS[1].name, "5,000 per 1h", "limit resume", "2..90/s"]),
    "job-show": (job_shown, [*WHOLE, "4095", "critical", "(in 1m30s)", "HTTPStatusError: the"]),
}


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW_S)
    monkeypatch.setattr(fields, "LOCAL", UTC)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", PICTURES)
def test_what_identifies_and_counts_is_never_cut(
    name: str, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show, whole = PICTURES[name]

    show()

    text = capsys.readouterr().out
    assert [part for part in whole if part not in text] == []
    picture = HERE / f"{name}-{width}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        picture.parent.mkdir(exist_ok=True)
        picture.write_text(text)
    assert text == picture.read_text()


@pytest.mark.parametrize("width", range(50, 200, 7))
def test_a_table_fits_unless_one_identifier_does_not(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.cells import cell_len

    for found in (SHORT, LONG):
        lines = draw(dead.COLUMNS, [dead.cells(job) for job in found], width)

        wide: list[Any] = [line.plain for line in lines if cell_len(line.plain) > width]
        assert all(line.strip() == LONG_ID or LONG_GROUP in line for line in wide), wide
