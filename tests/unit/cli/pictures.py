"""What commands print at 60, 80, 120 and 140 columns: `python -m tests.unit.cli.pictures --write`.

One file a command, in snapshots/; what changes in them is for review.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC
from pathlib import Path
from typing import Any
from unittest.mock import patch

from queuepool.cli.commands import dead, doctor, group, job, simulate
from queuepool.cli.display import advice, fields, finding, flows, groups, limits, schedules
from queuepool.cli.display.board import Board
from queuepool.cli.display.log import lines_of
from queuepool.cli.display.output import console, print_lines, say
from queuepool.cli.display.shadows import compared
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
    Schedule,
    ScheduleStatus,
    Tier,
)
from queuepool.models.advice import Advice, AdviceKind, Advised, Loads, PlaceLoad, ServerLoad
from queuepool.models.doctor import Finding, Severity, Unjudged, Verdict
from queuepool.models.finding import Digest, ErrorCount, RunningJob
from queuepool.models.flows import (
    BatchLine,
    BatchState,
    BatchStatus,
    BatchTree,
    FlowState,
    StepStatus,
)
from queuepool.models.groups import GroupLoad
from queuepool.models.history import PastRun
from queuepool.models.log import LogEntry, LogKind
from queuepool.models.runs import RunEnd
from queuepool.models.schedules import Fired

HERE = Path(__file__).with_name("snapshots")
WIDTHS = (60, 80, 120, 140)
NOW_S = 1_800_000_000.0
NOW_MS = int(NOW_S * 1000)
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


GROUPS = (
    GroupLoad(
        group=LONG_GROUP.encode(), partition=4095, pool="video", total=1_000_000, left=499_999,
        delayed=1, parked=1234, dead=3, created_ms=NOW_MS - 86_400_000, held_ms=NOW_MS - 60_000,
    ),
    GroupLoad(
        group=b"\xff\xffacme\xffk", partition=0, total=7, left=7, created_ms=NOW_MS - 1000
    ),
)  # fmt: skip


def groups_listed() -> None:
    finding.draw(groups.COLUMNS, [groups.cells(one) for one in GROUPS])


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
        (
            "granted",
            "granted_last_s",
            "wait_ms",
            "refused_ms",
            "running",
            "waiting",
            "askers",
            "parked",
        ),
        0,
    )
    values: dict[str, Any] = {"set": found, "declared": None, "paused_ms": 0, "pace": None}
    values |= {"parked_known": True} | counts | state
    return LimitStatus(name=found.name, **values)


LIMITS = [
    limit(Limit("mail", rate=20, concurrency=4), pace=20.0, running=4, waiting=12, granted=123_456,
        parked=1_234),
    limit(
        Limit("account:" + "0123456789abcdef" * 3, rate=5000, per_s=3600, burst=100),
        pace=5000.0, paused_ms=int(NOW_S * 1000) - 60_000,
    ),
    limit(
        Limit("partner", rate="adaptive", least=2, most=90), pace=41.3, wait_ms=30_000,
        granted_last_s=41, refused_ms=int(NOW_S * 1000) - 5_000, parked=56_789, parked_known=False,
    ),
]  # fmt: skip


def limits_listed() -> None:
    screen = console()
    print_lines(draw(limits.COLUMNS, [limits.cells(one) for one in LIMITS], screen.width), screen)


def limit_shown() -> None:
    for one in LIMITS[1:]:
        fields.print_fields(limits.fields(one))


def jobs_found() -> None:
    states = (JobState.DEAD, JobState.DELAYED, JobState.IN_FLIGHT, JobState.READY)
    ids = ("gD4.kPq0Zs_1xB", "mine-7", LONG_ID, "x")
    found = [
        JobStatus(
            job_id=JobId(ids[n]), state=state, partition=4095, task="import_row", tier=Tier.HIGH,
            group=LONG_GROUP.encode() if n == 2 else b"import-1", slot=1,
            enqueued_ms=NOW_MS - 60_000, at_ms=NOW_MS - 3_600_000, attempts=n,
            error=error(PROSE) if n < 2 else None, pool="video" if n == 1 else None,
        )
        for n, state in enumerate(states)
    ]  # fmt: skip
    finding.draw(finding.JOBS, [finding.job_cells(one) for one in found])


def jobs_running() -> None:
    def one(job_id: str, age_s: float, usual_s: float | None, *, slow: bool = False) -> RunningJob:
        status = JobStatus(
            job_id=JobId(job_id), state=JobState.IN_FLIGHT, partition=4095, task="resize_picture",
            group=b"album-7", slot=1, attempts=1, enqueued_ms=NOW_MS, at_ms=NOW_MS,
        )  # fmt: skip
        return RunningJob(job=status, age_s=age_s, usual_s=usual_s, slow=slow)

    found = [one("gD4.kPq0Zs_1xB", 4000, 12.5, slow=True), one(LONG_ID, 0.4, None)]
    finding.draw(finding.RUNNING, [finding.running_cells(each) for each in found])


def job_history() -> None:
    def run(attempt: int, end: RunEnd, message: str = "") -> PastRun:
        return PastRun(
            job_id=JobId("x"), task="t", group="g", attempt=attempt, end=end,
            ended_ms=NOW_MS - 1000, waited_s=3.25, ran_s=125.0,
            type="HTTPStatusError" if message else "", message=message,
        )  # fmt: skip

    runs = [run(1, RunEnd.FAILED, PROSE), run(2, RunEnd.DONE)]
    finding.draw(finding.HISTORY, [finding.history_cells(each) for each in runs])


ERRORS = (
    ErrorCount(
        fingerprint="HTTPStatusError-3fa2c1", task="billing.invoices.send_reminder_by_mail",
        reason="failed", type="HTTPStatusError", message=PROSE, dead=1_234_567, retrying=89,
        first_ms=NOW_MS - 86_400_000, last_ms=NOW_MS - 1000, example=JobId(LONG_ID),
    ),
    ErrorCount(
        fingerprint="timeout-01b2c3", task="t", reason="timeout", type="", message="", dead=0,
        retrying=7, first_ms=None, last_ms=None, example=JobId("mine-7"), is_exact=False,
    ),
)  # fmt: skip


def errors_listed() -> None:
    finding.draw(finding.ERRORS, [finding.error_cells(one) for one in ERRORS])


def digest_shown() -> None:
    finding.print_digest(
        Digest(
            dead=1_234_567, oldest_ms=NOW_MS - 86_400_000, newest_ms=NOW_MS - 1000,
            tasks=(("import_row", 1_234_500), ("t", 67)), reasons=(("failed", 1_234_567),),
            errors=ERRORS[:1], is_exact=True,
        )
    )  # fmt: skip


SCHEDULES = [
    ScheduleStatus(
        name="nightly-report-of-all-branches",
        schedule=Schedule(
            "nightly-report-of-all-branches", "reports.make_nightly_report", {"of": "yesterday"},
            cron="30 3 * * MON-FRI", timezone="Europe/Berlin", tenant="acme",
        ),
        version=NOW_MS - 86_400_000, since_ms=NOW_MS - 86_400_000, by="ada",
        state=Fired(NOW_MS, NOW_MS, NOW_MS - 7_200_000, NOW_MS - 7_199_000, 1_234, 5, 6),
    ),
    ScheduleStatus(
        name="ping", schedule=Schedule("ping", "ping", every="10m"), version=NOW_MS,
        since_ms=NOW_MS - 60_000, paused_ms=NOW_MS - 30_000,
    ),
]  # fmt: skip


def schedules_listed() -> None:
    finding.draw(schedules.COLUMNS, [schedules.cells(one) for one in SCHEDULES])


def schedule_shown() -> None:
    fields.print_fields(schedules.fields(SCHEDULES[0]))


BATCH = "AAbbbbbbbbbbbbbb-publish-album"


def flows_listed() -> None:
    lines = [
        BatchLine(BATCH, BatchState.OPEN, "albums.publish", 1_000_000, 999_999, 3, 4,
                  NOW_MS + 3_600_000, NOW_MS),
        BatchLine("AAccccccccccccc", BatchState.CANCELLED, "sum", 3, 0, 0, 3, NOW_MS, NOW_MS),
    ]  # fmt: skip
    finding.draw(flows.COLUMNS, [flows.cells(line) for line in lines])


def flow_shown() -> None:
    outer = BatchStatus(
        name=BATCH, state=BatchState.OPEN, called="albums.publish", total=1_000_000, done=999_990,
        dead=3, lost=4, sealed=True, deadline_ms=NOW_MS + 3_600_000, on_failure="wait",
    )  # fmt: skip
    inner = BatchStatus(name="AAccccccccccccc", state=BatchState.OPEN, called="sum", done=7)
    for line in flows.tree_lines(BatchTree(outer, (BatchTree(inner),))):
        say(line)


def steps_shown() -> None:
    steps = [
        StepStatus(name="extract-albums", task="extract", state=FlowState.FAILED, total=1_000_000,
                   done=999_993, dead=3, lost=4, batch=BATCH),
        StepStatus(name="load", task="load", state=FlowState.WAITING, after=("extract-albums",),
                   total=12, batch="AAccccccccccccc", deadline_ms=NOW_MS + 3_600_000),
    ]  # fmt: skip
    finding.draw(flows.STEPS, [flows.step_cells(step) for step in steps])


def doctor_shown() -> None:
    found = Finding(
        kind="no-owner", severity=Severity.CRITICAL, subject="partition 4095/video",
        what="5,000,000 jobs wait, and no consumer owns it", since_ms=NOW_MS - 180_000,
        meaning="they wait until one is started", remedy="queuepool consumer --partition 4095",
    )  # fmt: skip
    doctor.print_verdict(Verdict(at_ms=NOW_MS, findings=(found,), unjudged=(Unjudged("a", "b"),)))


def advice_shown() -> None:
    found = Advice(
        kind=AdviceKind.HOT_SLOTS, subject="partition 4095", since_ms=NOW_MS - 180_000,
        what=PROSE, effect="partition 4095 would have 6.0 workers' work",
        command="queuepool move --slot 17,4000 --to-partition 1023",
    )  # fmt: skip
    place = PlaceLoad(
        partition=4095, server="main", workers=512, busy=511.5, wanted=1234.5, came=12345.6,
        ended=9876.5, wait_s=86_400, backlog=5_000_000, bytes=10**9, growth=-4e6,
    )  # fmt: skip
    server = ServerLoad(
        name="main", cpu=0.71, calls=123_456, used=7 * 10**9, limit=10**10, growth=5e5
    )
    loads = Loads(over_s=600, places=(place,), servers=(server,), spare=("big",))
    advice.show(Advised(at_ms=NOW_MS, advice=(found,), loads=loads))


LOG = (
    LogEntry(kind=LogKind.ACT, what="hold", subject=f"group {LONG_GROUP}", who="ada@desk",
             via="command, ipv4:10.0.0.3:41220", why="they asked", outcome="1 changed",
             at_ms=NOW_MS),
    LogEntry(kind=LogKind.FINDING, what="ended", subject="partition 3", who="doctor",
             outcome="no-owner", at_ms=NOW_MS),
    LogEntry(kind=LogKind.OWNER, what="took over", subject="partition 4095", who=OWNER,
             outcome="after b:1, whose lease had expired: fenced; version 0.2.0", at_ms=NOW_MS),
)  # fmt: skip


def log_shown() -> None:
    for entry in LOG:
        for line in lines_of(entry, console().width):
            say(line)


def shadow_shown() -> None:
    side = {"worker_s": 4.5e6, "wait_mean_s": 1.0, "wait_p50_s": 0.0, "wait_p99_s": 1234.5}
    found = {
        "policy": "target_wait", "seconds": 3600.0, "jobs": 1e6, "live": side | {"changes": 1_234},
        "candidate": side | {"changes": 9},
    }  # fmt: skip
    for line in compared(found, console().width):
        say(line)


def simulated() -> None:
    names = ("wait_p50_s", "wait_p99_s", "wait_max_s", "added_p99_s", "cost", "changes_per_h",
             "reversals_per_h")  # fmt: skip
    scores = [
        dict.fromkeys(names, 1234.5) | {"policy": policy, "left": 1_000, "meets_goal": True}
        for policy in ("sized", "target_wait")
    ]
    simulate.print_results([{"scenario": "heavy-tail-of-monday.csv", "scores": scores}])


WHOLE = [LONG_ID, LONG_GROUP]
COUNTS = ["1,234,567", "89"]
# command -> what prints it, and what must be whole at each width
PICTURES: dict[str, tuple[Callable[[], None], list[str]]] = {
    "status": (lambda: board(sparks=False), ["0 ", "7 ", "1023", "4095", "5,000,000", "24/24"]),
    "watch": (lambda: board(sparks=True), ["0 ", "7 ", "1023", "4095", "5,000,000", "100,000"]),
    "dead-list": (lambda: listed(SHORT), ["gD4.kPq0Zs_1xB", "mine-7", "import_row", "failed"]),
    "dead-list-long": (lambda: listed(LONG), ["gD4.kPq0Zs_1xB", LONG_ID, LONG[2].task]),
    "dead-show": (lambda: dead.print_dead(LONG[2]), [*WHOLE, "(3m ago)", '"s": "Zürich"']),
    "dead-digest": (digest_shown, ["1,234,567", "HTTPStatusError-3fa2c1"]),
    "errors": (errors_listed, ["HTTPStatusError-3fa2c1", "timeout-01b2c3", *COUNTS, "~7"]),
    "group-list": (groups_listed, [LONG_GROUP, "499,999", "1d ago", "acme"]),
    "group-show": (group_shown, [LONG_GROUP, "1,000,000", "50.0%"]),
    "limit-list": (
        limits_listed,
        [*(one.name for one in LIMITS), "4 at once", "backing off for 30s"],
    ),
    "limit-show": (limit_shown, [LIMITS[1].name, "5,000 per 1h", "limit resume", "2..90/s"]),
    "job-show": (job_shown, [*WHOLE, "4095", "critical", "(in 1m30s)", "HTTPStatusError: the"]),
    "job-find": (jobs_found, ["gD4.kPq0Zs_1xB", LONG_ID, "in-flight", "import_row"]),
    "job-history": (job_history, ["failed", "done", "2m5s"]),
    "jobs-running": (jobs_running, ["gD4.kPq0Zs_1xB", LONG_ID, "1h6m (slow)"]),
    "schedule-list": (schedules_listed, [*(one.name for one in SCHEDULES), "paused", "missed"]),
    "schedule-show": (schedule_shown, [SCHEDULES[0].name, "30 3 * * MON-FRI", "1,234"]),
    "flow-list": (flows_listed, [BATCH, "AAccccccccccccc", "999,999", "cancelled", "lost"]),
    "flow-show": (flow_shown, [BATCH, "999,990 of 1,000,000", "3 dead", "4 lost"]),
    "flow-steps": (steps_shown, ["extract-albums", "999,993", "lost", "4"]),
    "doctor": (doctor_shown, ["partition 4095/video", "5,000,000", "consumer --partition 4095"]),
    "advise": (advice_shown, ["partition 4095", "--slot 17,4000 --to-partition 1023", "71%"]),
    "log": (log_shown, ["ada@desk", OWNER, "4095", "took over", "10.0.0.3:41220"]),
    "shadow": (shadow_shown, ["target_wait", "1,234.5 s", "1,234", "1,250.00"]),
    "simulate": (
        simulated,
        ["sized", "target_wait", "1,234.50", "1,000", "met", "heavy-tail-of-monday.csv"],
    ),
}


@contextmanager
def at_width(width: int) -> Iterator[None]:
    """Have commands print for this width, at a moment that never changes."""
    with (
        patch.dict(os.environ, COLUMNS=str(width)),
        patch("time.time", lambda: NOW_S),
        patch.object(fields, "LOCAL", UTC),
    ):
        yield


def printed(name: str, width: int) -> str:
    """Return what a command prints at this width."""
    with at_width(width), io.StringIO() as out, redirect_stdout(out), redirect_stderr(out):
        PICTURES[name][0]()
        return out.getvalue()


def picture(name: str) -> str:
    """Return what a command prints at each width."""
    return "".join(f"{f' {width} columns ':=^{width}}\n{printed(name, width)}" for width in WIDTHS)


def file_of(name: str) -> Path:
    """Return the file that has the picture of a command."""
    return HERE / f"{name}.txt"


def main() -> int:
    """Write all pictures; without --write, say which would change."""
    changed = [
        name
        for name in PICTURES
        if not file_of(name).exists() or file_of(name).read_text() != picture(name)
    ]
    for name in changed:
        sys.stdout.write(f"{name}: {'written' if '--write' in sys.argv else 'differs'}\n")
        if "--write" in sys.argv:
            file_of(name).write_text(picture(name))
    return 0 if "--write" in sys.argv else len(changed)


if __name__ == "__main__":
    sys.exit(main())
