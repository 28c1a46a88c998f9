import math
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.api import decisions, messages
from coordinator.core.model import Inputs, Mode, PartitionView
from coordinator.decisions.ledger import DecisionRecord
from queuepool.models import LimitStatus
from queuepool.models.eta import Pace
from queuepool.rpc.limits import message_of
from queuepool.rpc.v1 import decision_pb2, partition_pb2
from tests.unit.coordinator.observed import owner, state

VIEW = PartitionView(
    partition=3,
    server="main",
    state=state(owner(16, workers=14, busy=9, version="0.2.0"), partition=3, backlog=70, done=5),
    seen_s=10.0,
    problem="",
    finished_per_s=2.5,
    target=20,
    manual_until_ms=None,
)


def message(view: PartitionView = VIEW, *, now_s: float = 11.0) -> Any:
    return messages.partition(view, now_s=now_s, stale_after_s=2.0)


def test_a_partition_has_everything_that_was_seen() -> None:
    shown = message()

    assert (shown.partition, shown.server, shown.backlog, shown.pwqd) == (3, "main", 70, 5.0)
    assert (shown.workers.target, shown.workers.running, shown.workers.busy) == (20, 14, 9)
    assert (shown.owner.id, shown.owner.host) == ("here:1", "here")
    assert shown.owner.version == "0.2.0"
    assert (shown.ready.default_tier, shown.totals.done) == (70, 5)
    assert shown.mode == partition_pb2.MODE_AUTOMATIC
    assert not shown.HasField("manual_until_ms")
    assert not shown.stale


def test_what_is_older_than_two_cycles_or_failed_is_stale() -> None:
    assert message(now_s=12.5).stale
    failed = message(replace(VIEW, problem="no answer"))
    assert failed.stale
    assert (failed.error, failed.backlog) == ("no answer", 70)
    assert message(replace(VIEW, state=None, seen_s=None)).stale


def test_a_partition_without_an_owner_has_none() -> None:
    assert not message(replace(VIEW, state=state(None))).HasField("owner")


def test_the_estimate_of_all_is_of_all_running_jobs_together() -> None:
    seen = replace(state(owner(8)), in_flight=8)
    view = replace(VIEW, state=seen, target=8, pace=Pace(60, 60.0))

    part = message(view)
    whole = messages.cluster_counts([view] * 64)
    of_idle = replace(view, state=state(owner(8)), pace=Pace())

    assert whole.eta.likely_s == pytest.approx(math.log(64 * 8 / math.log(2)), rel=0.01)
    assert whole.eta.low_s > part.eta.likely_s
    assert messages.cluster_counts([view, of_idle]).eta.high_s == pytest.approx(part.eta.high_s)
    assert not messages.cluster_counts([view, replace(view, pace=Pace())]).HasField("eta")


def test_a_manual_count_is_shown_as_such() -> None:
    shown = message(replace(VIEW, manual_until_ms=99))

    assert (shown.mode, shown.manual_until_ms) == (partition_pb2.MODE_MANUAL, 99)


def test_absurd_counts_do_not_break_the_answer() -> None:
    assert message(replace(VIEW, state=state(owner(2**40)), target=-(2**40))).workers.target < 0


def test_counters_beyond_64_bits_do_not_break_the_answer() -> None:
    largest = 2**63 - 1
    assert VIEW.state is not None
    seen = replace(VIEW.state, ready=(largest,) * 4, counters={"done": largest})
    view = replace(VIEW, state=seen, manual_until_ms=2**80)

    assert message(view).backlog == largest
    assert message(view).manual_until_ms == largest
    assert messages.cluster_counts([view, view]).totals.done == largest


def test_absurd_numbers_of_any_kind_do_not_break_the_answer() -> None:
    absurd = state(owner(16), backlog=2**63 - 1, done=2**63 - 1)
    views = [replace(VIEW, state=absurd, manual_until_ms=2**70)] * 3
    record = DecisionRecord(
        at_ms=2**70, partition=-1, epoch=2**70, cycle=-(2**70), policy="pwqd", version=2**40,
        mode=Mode.AUTOMATIC, previous=2**40, target=-(2**70), reason="",
    )  # fmt: skip

    assert message(views[0]).manual_until_ms == 2**63 - 1
    assert messages.cluster_counts(views).totals.done == 2**63 - 1
    assert decisions.decision("1-0", record).partition == 0


def test_totals_are_sums() -> None:
    cluster = messages.cluster_counts([VIEW, VIEW, replace(VIEW, state=None)])

    assert (cluster.backlog, cluster.totals.done, cluster.workers.running) == (140, 10, 28)
    assert cluster.workers.target == 60


def test_a_decision_keeps_its_inputs_or_their_absence() -> None:
    record = DecisionRecord(
        at_ms=1, partition=3, epoch=7, cycle=2, policy="pwqd", version=1, mode=Mode.AUTOMATIC,
        previous=8, target=16, reason="why", clamps=("max_workers",), command="7-1",
        inputs=Inputs(
            backlog=70, workers=8, busy=8, reported=8, pwqd=8.75, finished_total=3
        ),
    )  # fmt: skip

    up = decisions.decision("1-0", record)
    unseen = decisions.decision("1-1", replace(record, inputs=None, target=8))

    assert (up.type, up.inputs.pwqd, up.command_id) == (
        decision_pb2.DECISION_TYPE_SCALE_UP, 8.75, "7-1",
    )  # fmt: skip
    assert unseen.type == decision_pb2.DECISION_TYPE_HOLD
    assert not unseen.HasField("inputs")


def test_absurd_numbers_of_a_limit_do_not_break_the_reply() -> None:
    names = ("paused_ms", "granted", "granted_last_s", "wait_ms", "refused_ms", "running")
    numbers: dict[str, Any] = dict.fromkeys((*names, "waiting", "askers"), 10**30)

    message = message_of(LimitStatus(name="mail", set=None, declared=None, pace=None, **numbers))

    assert message.refused_ms == message.granted == 2**63 - 1
