"""Each rule finds its fault, says since when and what to do, and not just below its threshold."""

from __future__ import annotations

from typing import Any

import pytest

from queuepool.models import Limit
from queuepool.models.doctor import Checkup, Finding, Held, Refusal, Severity, Waiting
from queuepool.models.schedules import Fired
from queuepool.telemetry.doctor import Observed, judge
from queuepool.telemetry.doctor.observed import Deaths
from queuepool.telemetry.doctor.rules import RULES, failures, fairness, held, owners, servers
from tests.unit.telemetry.doctor import queues as q
from tests.unit.telemetry.doctor.queues import MIB, NOW

DAY_MS = 86_400_000
LAID_ASIDE = {"aside": 5, "aside_tasks": ("sned_mail",)}


def only(seen: Observed) -> Finding:
    verdict = judge(seen)
    assert len(verdict.findings) == 1, verdict.findings
    return verdict.findings[0]


def looked(**changes: Any) -> Checkup:
    return Checkup(**{"now_ms": NOW} | changes)


def deaths(died: int, *, before: int = 200, over: float = 3_000) -> Observed:
    known = Deaths(
        died=died, ended=1_000, over_s=300, died_before=before, ended_before=100_000, before_s=over
    )
    return q.healthy(past=q.past(deaths=known))


def with_server(**changes: Any) -> Observed:
    return q.healthy(servers=(q.server(**changes),))


def with_limit(parked: int, **changes: Any) -> Observed:
    return q.healthy(limits=(q.limit(parked=parked, **changes),))


def hot(times: float, wait_s: float) -> Observed:
    others = [q.load(n, wait_s=1.0) for n in range(8)]
    return q.healthy(loads=q.loads(*others, q.load(0, wanted=8.0 * times, wait_s=wait_s)))


def biggest(jobs: int, second: int, per_s: float = 1.0) -> Observed:
    groups = (Waiting(b"bulk 7", jobs), Waiting(b"x", second))
    return q.one_place(checkup=looked(lanes=3, groups=groups), finished_per_s=per_s)


def test_a_healthy_queue_under_full_load_has_no_finding() -> None:
    verdict = judge(q.healthy())

    assert verdict.well
    assert not verdict.unjudged


LEAST_MS = owners.NO_OWNER_S * 1000
GONE = {"owner": None, "oldest_ms": LEAST_MS}
STUCK_MS = failures.STUCK_LEAST_S * 1000
FAULTS: dict[str, tuple[Observed, Observed, str, str]] = {
    # case: (with the fault, just below it, the subject, a part of the remedy)
    "no-owner": (
        q.one_place(**GONE),
        q.one_place(owner=None, oldest_ms=LEAST_MS - 1),
        "partition 0",
        "queuepool consumer",
    ),
    "no-owner: its lease ended": (
        q.one_place(owner=q.owner(lease_ms=-LEAST_MS), oldest_ms=60_000),
        q.one_place(owner=q.owner(lease_ms=1), oldest_ms=60_000),
        "partition 0",
        "queuepool consumer",
    ),
    "no-owner: a pool": (
        q.one_place(pool="video", **GONE),
        q.one_place(pool="video"),
        "partition 0/video",
        "--pools video=",
    ),
    "no-leader": (
        q.healthy(leader_lease_ms=0),
        q.healthy(leader_lease_ms=1),
        "coordinator",
        "queuepool coordinator",
    ),
    "no-route-record": (
        q.healthy(route_version=0),
        q.healthy(route_version=0, places=(q.place(jobs=0, bytes=500 * MIB, owner=None),)),
        "queue",
        "queuepool check",
    ),
    "refuses-writes: it cannot save": (
        with_server(refusal=Refusal.UNSAVED),
        with_server(refusal=None),
        "server main",
        "disk full",
    ),
    "refuses-writes: without replicas": (
        with_server(refusal=Refusal.ALONE),
        with_server(refusal=None),
        "server main",
        "min-replicas-to-write",
    ),
    "refuses-writes: a replica": (
        with_server(refusal=Refusal.REPLICA),
        with_server(refusal=None),
        "server main",
        "QUEUEPOOL_URL",
    ),
    "memory": (
        with_server(used=900 * MIB, expiring=0),
        with_server(used=900 * MIB - 1, expiring=0),
        "server main",
        "maxmemory",
    ),
    "evictions": (
        q.healthy(past=q.past(evicted={"main": 1})),
        q.healthy(past=q.past(evicted={"main": 0}), servers=(q.server(evicted=9),)),
        "server main",
        "noeviction",
    ),
    "evictions: allowed": (
        with_server(policy="allkeys-lru"),
        with_server(policy=""),
        "server main",
        "noeviction",
    ),
    "unknown-task": (
        q.one_place(**LAID_ASIDE),
        q.one_place(aside=0),
        "partition 0",
        "--app",
    ),
    "stuck-job": (
        q.one_place(checkup=looked(running=("j7", NOW - STUCK_MS))),
        q.one_place(checkup=looked(running=("j7", NOW - STUCK_MS + 1))),
        "job j7",
        "queuepool job cancel j7",
    ),
    "stuck-job: others take long, too": (
        q.one_place(checkup=looked(running=("j7", NOW - 2_000_000)), service_s=2.0),
        q.one_place(checkup=looked(running=("j7", NOW - 1_999_999)), service_s=2.0),
        "job j7",
        "queuepool job show j7",
    ),
    "stuck-job: nothing else ran": (
        q.one_place(checkup=looked(running=("j7", NOW - 3_600_000)), service_s=0.0),
        q.one_place(checkup=looked(running=("j7", NOW - 3_599_999)), service_s=0.0),
        "job j7",
        "queuepool job show j7",
    ),
    "held": (
        q.one_place(held_ms=NOW - DAY_MS, oldest_ms=0),
        q.one_place(held_ms=NOW - DAY_MS + 1, oldest_ms=0),
        "partition 0",
        "queuepool release partition 0",
    ),
    "held: a group": (
        q.one_place(checkup=looked(held_group=Held(b"bulk 7", NOW - DAY_MS))),
        q.one_place(checkup=looked(held_group=Held(b"bulk 7", NOW - DAY_MS + 1))),
        "group bulk 7",
        "queuepool release group 'bulk 7'",
    ),
    "held: a tenant": (
        q.one_place(checkup=looked(held_tenant=Held(b"acme", NOW - DAY_MS))),
        q.one_place(checkup=looked(held_tenant=Held(b"acme", NOW - DAY_MS + 1))),
        "tenant acme",
        "queuepool tenant release acme",
    ),
    "held: a limit": (
        q.healthy(limits=(q.limit(paused_ms=NOW - DAY_MS),)),
        q.healthy(limits=(q.limit(paused_ms=NOW - DAY_MS, parked=0),)),
        "limit mail",
        "queuepool limit resume mail",
    ),
    "limit": (
        with_limit(parked=360_000),
        with_limit(parked=359_999),
        "limit mail",
        "queuepool limit set mail",
    ),
    "limit: of concurrency": (
        with_limit(180_000, set=Limit("mail", concurrency=1), pace=None),
        with_limit(179_999, set=Limit("mail", concurrency=1), pace=None),
        "limit mail",
        "queuepool limit show mail",
    ),
    "deaths-rising": (deaths(20), deaths(19), "jobs", "queuepool errors"),
    "deaths-rising: beside many": (
        deaths(60, before=2_000),
        deaths(59, before=2_000),
        "jobs",
        "queuepool dead digest",
    ),
    "version-skew": (
        q.one_place(owner=q.owner(version="1.2.2")),
        q.one_place(owner=q.owner(version="1.2.2", target=0)),
        "consumers",
        "finish the deployment",
    ),
    "version-skew: none told": (
        q.one_place(owner=q.owner(version="")),
        q.one_place(owner=q.owner()),
        "consumers",
        "finish the deployment",
    ),
    "clock-skew": (
        q.healthy(clocks={"main": -2_000}),
        q.healthy(clocks={"main": -1_999}),
        "server main",
        "synchronize",
    ),
    "clock-skew: of three servers": (
        q.healthy(clocks={"a": 50_000, "b": 50_010, "c": 53_000}),
        q.healthy(clocks={"a": 50, "b": 60, "c": 1_900}),
        "server c",
        "synchronize",
    ),
    "persistence": (
        with_server(appendonly=False),
        with_server(appendonly=None),
        "server main",
        "appendonly yes",
    ),
    "persistence: a full disk": (
        with_server(write_error=True),
        with_server(write_error=False),
        "server main",
        "disk",
    ),
    "replication": (
        with_server(behind=servers.BEHIND_BYTES + 1),
        with_server(behind=servers.BEHIND_BYTES),
        "server main",
        "INFO replication",
    ),
    "replication: silent": (
        with_server(silent_s=servers.SILENT_S + 1),
        with_server(silent_s=servers.SILENT_S),
        "server main",
        "INFO replication",
    ),
    "dead-bound": (
        q.one_place(dead=80_000),
        q.one_place(dead=79_999),
        "partition 0",
        "queuepool dead digest",
    ),
    "dead-bound: bytes": (
        q.one_place(counters={"dead_bytes": 52 * MIB}),
        q.one_place(counters={"dead_bytes": 51 * MIB}),
        "partition 0",
        "queuepool dead digest",
    ),
    "big-group": (
        biggest(10_000, 1_000),
        biggest(10_000, 1_001),
        "group bulk 7",
        "queuepool group show 'bulk 7'",
    ),
    "big-group: soon done": (
        biggest(10_000, 1, per_s=10_000 / fairness.LONG_S),
        biggest(10_000, 1, per_s=10_001 / fairness.LONG_S),
        "group bulk 7",
        "queuepool group configure 'bulk 7'",
    ),
    "flapping": (
        q.healthy(past=q.past(takeovers={"3": tuple(range(NOW - 4, NOW))})),
        q.healthy(past=q.past(takeovers={"3": (NOW - 600_001, *range(NOW - 3, NOW))})),
        "partition 3",
        "consumer's log",
    ),
    "hot-partition": (hot(2.01, 60), hot(1.99, 60), "partition 0", "queuepool advise"),
    "hot-partition: nobody waits": (hot(5, 60), hot(5, 59.9), "partition 0", "queuepool advise"),
    "schedule-missed": (
        q.healthy(past=q.past(missed={"nightly": (2, NOW - 9_000)})),
        q.healthy(past=q.past(missed={"other": (2, NOW - 9_000)})),
        "schedule nightly",
        "queuepool schedule run nightly",
    ),
    "schedule-missed: late": (
        q.healthy(schedules=(q.schedule(since_ms=NOW - 10**7, state=Fired(1, NOW - 10**7)),)),
        q.healthy(schedules=(q.schedule(paused_ms=NOW - 10**7, since_ms=NOW - 10**7),)),
        "schedule nightly",
        "queuepool schedule show nightly",
    ),
    "results-memory": (
        with_server(used=700 * MIB),
        with_server(used=600 * MIB),
        "server main",
        "result_ttl_s",
    ),
    "gain-check": (
        q.one_place(clamps=("max", "gain_check"), oldest_ms=60_000),
        q.one_place(clamps=("max", "gain_check"), oldest_ms=59_999),
        "partition 0",
        "queuepool why 0",
    ),
    "server-away": (
        with_server(problem="connection refused"),
        with_server(problem=""),
        "server main",
        "queuepool check",
    ),
}


def test_a_wrong_password_is_no_server_that_stopped() -> None:
    cause = "host:1 rejects the password: invalid username-password pair. Set it in QUEUEPOOL_URL."

    found = only(with_server(problem=cause))

    assert found.what == (
        "it rejects the password: invalid username-password pair. Set it in QUEUEPOOL_URL."
    )
    assert "right password are not affected" in found.meaning
    assert "stop" not in found.meaning


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_with_its_remedy(case: str) -> None:
    faulty, _, subject, remedy = FAULTS[case]

    found = only(faulty)

    assert found.kind == case.partition(":")[0]
    assert found.subject == subject
    assert remedy in found.remedy
    assert found.what
    assert found.meaning


@pytest.mark.parametrize("case", FAULTS)
def test_just_below_its_threshold_nothing_is_found(case: str) -> None:
    assert judge(FAULTS[case][1]).findings == ()


def test_every_kind_has_a_fault_here() -> None:
    assert {case.partition(":")[0] for case in FAULTS} == {rule.kind for rule in RULES}


def test_what_the_data_dates_is_dated_even_in_a_single_look() -> None:
    assert only(FAULTS["held"][0]).since_ms == NOW - held.HELD_S * 1000
    assert only(FAULTS["stuck-job"][0]).since_ms == NOW - STUCK_MS
    assert only(FAULTS["no-owner"][0]).since_ms == NOW - LEAST_MS
    assert only(FAULTS["memory"][0]).since_ms is None


def test_a_server_that_is_almost_full_is_worse_than_one_at_90_percent() -> None:
    assert only(with_server(used=969 * MIB, expiring=0)).severity is Severity.WARNING
    assert only(with_server(used=970 * MIB, expiring=0)).severity is Severity.CRITICAL


def test_a_name_that_begins_with_a_dash_is_no_option() -> None:
    name = Held(b"-rf", NOW - DAY_MS)

    remedy = only(q.one_place(checkup=looked(held_group=name))).remedy

    assert remedy == r"queuepool release group '\x2drf'"


def test_a_name_with_a_quote_is_typed_safely() -> None:
    name = Held(b"it's; rm -rf", NOW - DAY_MS)

    remedy = only(q.one_place(checkup=looked(held_group=name))).remedy

    assert remedy == """queuepool release group 'it'"'"'s; rm -rf'"""


def test_evictions_without_a_history_count_since_the_start() -> None:
    found = only(q.healthy(past=None, clamps_known=False, servers=(q.server(evicted=2_500),)))

    assert "2,500 keys since it started" in found.what
