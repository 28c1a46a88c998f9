"""Which events of a coordinator are recorded in the log, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from coordinator.core import events as e
from coordinator.core.model import Mode, PartitionDecision, PartitionView, Snapshot
from coordinator.core.owners import MOVES, MOVES_IN
from coordinator.telemetry.entries import LogEntries
from queuepool.models import Owner
from queuepool.models.doctor import Finding, Severity
from queuepool.models.log import LogEntry, LogKind
from tests.unit.coordinator.observed import owner, state

FOUND = Finding(
    kind="no-owner", severity=Severity.CRITICAL, subject="partition 1", what="9 jobs wait",
    meaning="", remedy="",
)  # fmt: skip
FIRST = changed(owner(epoch=5), host="one:1", version="0.2.0")


class Desk:
    """A listener, and what it wrote."""

    def __init__(self, *, leads: bool = True, pool: str = "default") -> None:
        self.entries: list[LogEntry] = []
        self.listener = LogEntries(self.entries.append, pool)
        if leads:
            self.hear(e.LeadGained(7))

    def hear(self, *events: object) -> list[LogEntry]:
        """Return what these events lead to."""
        self.entries.clear()
        for event in events:
            self.listener(event)
        return list(self.entries)

    def look(self, *owners: Owner | None, draining: int = 0, leading: bool = True) -> list[str]:
        """Return what is written when these own the partitions."""
        views = tuple(view(n, one, draining=draining) for n, one in enumerate(owners))
        snapshot = Snapshot(cycle=1, leading=leading, partitions=views)
        return texts(self.hear(e.CycleEnded(0.1, snapshot)))


def view(
    number: int, held_by: Owner | None, *, draining: int = 0, problem: str = ""
) -> PartitionView:
    return PartitionView(
        partition=number, server="s", state=changed(state(held_by), draining=draining), seen_s=1.0,
        problem=problem, finished_per_s=0.0, target=1, manual_until_ms=None,
    )  # fmt: skip


def texts(entries: Sequence[LogEntry]) -> list[str]:
    return [f"{one.what}|{one.subject}|{one.who}|{one.outcome}" for one in entries]


def decided(number: int, before: int, after: int, mode: Mode = Mode.AUTOMATIC) -> e.Decided:
    return e.Decided(
        PartitionDecision(
            partition=number, mode=mode, previous=before, target=after, reason=f"why {number}"
        )
    )


def cycle(*, leading: bool = True) -> e.CycleEnded:
    return e.CycleEnded(0.1, Snapshot(cycle=1, leading=leading))


def test_the_lead_is_kept_with_its_epoch_and_version() -> None:
    desk = Desk(leads=False)

    (gained,) = desk.hear(e.LeadGained(7))
    (lost,) = desk.hear(e.LeadLost(7, "the lease was not renewed"))

    assert (gained.kind, gained.what, gained.subject) == (LogKind.LEADER, "leads", "")
    assert gained.outcome.startswith("epoch 7, version ")
    assert gained.who
    assert (lost.what, lost.why) == ("leads no more", "the lease was not renewed")


def test_the_lead_of_another_pool_says_which() -> None:
    (gained,) = Desk(leads=False, pool="video").hear(e.LeadGained(7))

    assert gained.subject == "pool video"


def test_findings_are_kept_when_they_come_and_go_by_the_leader_alone() -> None:
    desk, standby = Desk(), Desk(leads=False)

    found = desk.hear(e.FindingCame(FOUND), e.FindingWent(FOUND))

    assert {one.kind for one in found} == {LogKind.FINDING}
    assert texts(found) == [
        "found|partition 1|doctor|no-owner: 9 jobs wait",
        "ended|partition 1|doctor|no-owner",
    ]
    assert standby.hear(e.FindingCame(FOUND)) == []
    desk.hear(e.LeadLost(7, "gone"))
    assert desk.hear(e.FindingWent(FOUND)) == []


def test_a_move_that_the_leader_begins_by_itself_is_kept_with_its_reason() -> None:
    [found] = Desk().hear(e.MoveBegun("of slot 17 to partition 5", "partition 3 is hot"))

    assert (found.kind, found.what, found.subject) == (
        LogKind.ACT,
        "move",
        "slot 17 to partition 5",
    )
    assert (found.why, found.via) == ("partition 3 is hot", "COORDINATOR_AUTO_MOVES")


def test_a_decision_that_changes_a_count_is_kept_with_its_reason() -> None:
    found = Desk().hear(decided(3, 4, 32), decided(4, 8, 8), cycle())

    assert texts(found) == ["scale|partition 3||4 -> 32 workers"]
    assert found[0].why == "why 3"
    assert found[0].kind is LogKind.SCALING


def test_the_first_look_of_a_new_leader_changes_nothing() -> None:
    assert Desk().hear(decided(3, 4, 32, Mode.OBSERVE), cycle()) == []


def test_many_decisions_of_one_cycle_are_one_entry() -> None:
    found = Desk(pool="video").hear(*(decided(n, 1, n + 1) for n in range(1, 41)), cycle())

    assert texts(found) == ["scale|40 partitions of pool video||40 -> 860 workers together"]
    assert found[0].why == "most: partition 40/video, 1 -> 41: why 40"


def test_a_call_of_an_operator_is_kept_as_it_was_told() -> None:
    entry = LogEntry(kind=LogKind.ACT, what="hold", who="ada")
    call = e.OperatorCalled("a", "operator", "Hold", 1, "OK")

    assert Desk(leads=False).hear(call, replace(call, entry=entry)) == [entry]


def test_consumers_that_come_leave_and_take_over_are_kept() -> None:
    desk = Desk()
    second = changed(owner(epoch=9), host="two:2")
    silent = changed(FIRST, lease_ms=-1)

    assert desk.look(None) == []  # what was before the first look is not known
    assert desk.look(FIRST) == ["came|partition 0|one:1|version 0.2.0"]
    assert desk.look(changed(FIRST, workers=99)) == []
    assert desk.look(silent) == [
        "silent|partition 0|one:1|its lease has expired: it crashed, stalls, or is cut off"
    ]
    assert desk.look(FIRST) == ["back|partition 0|one:1|its lease is renewed"]
    desk.look(silent)
    assert desk.look(second) == [
        "took over|partition 0|two:2|after one:1, whose lease had expired: fenced"
    ]
    assert desk.look(FIRST, draining=1) == [
        "took over|partition 0|one:1|after two:2, which drains; version 0.2.0"
    ]
    assert desk.look(None) == ["left|partition 0|one:1|no consumer owns it"]


def test_one_that_is_replaced_before_its_lease_expires_may_have_crashed() -> None:
    desk = Desk()
    desk.look(FIRST)

    assert desk.look(changed(owner(epoch=9), host="two:2")) == [
        "took over|partition 0|two:2|after one:1, which released it or crashed"
    ]


def test_the_first_look_of_a_leader_tells_the_owners_and_their_releases() -> None:
    old = changed(FIRST, version="0.1.0")

    assert Desk().look(*[FIRST] * 6, old, None, changed(FIRST, lease_ms=-1)) == [
        "owns|6 partitions: 0, 1, 2, 3, 4, 5|one:1 and others|version 0.2.0",
        "owns|partition 6|one:1|version 0.1.0",
    ]


def test_a_consumer_that_moves_all_the_time_is_told_once_until_it_stays() -> None:
    desk = Desk()
    desk.look(None, None)
    told: list[str] = []
    for epoch in range(5, 45, 2):
        told += desk.look(changed(FIRST, epoch=epoch), None)
        told += desk.look(None, changed(FIRST, epoch=epoch + 1))

    assert {line.partition("|")[0] for line in told[:-1]} == {"came", "left"}
    assert len(told) <= 2 * MOVES
    assert told[-1].startswith("shares|partition ")
    assert told[-1].endswith("|one:1|it moves among partitions that have work")

    stays = changed(FIRST, epoch=99)
    desk.look(stays, None)
    for _ in range(MOVES_IN):
        assert desk.look(stays, None) == []
    assert desk.look(None, None) == ["left|partition 0|one:1|no consumer owns it"]


def test_leases_that_end_are_told_however_often() -> None:
    desk = Desk()
    desk.look(None)
    for epoch in range(5, 45):
        desk.look(changed(FIRST, epoch=epoch))
        gone = changed(FIRST, epoch=epoch, lease_ms=0)
        assert [line.partition("|")[0] for line in desk.look(gone)] == ["silent"]


def test_a_standby_watches_owners_and_writes_nothing() -> None:
    desk = Desk()
    desk.look(None)

    assert desk.look(FIRST, leading=False) == []
    assert desk.look(FIRST) == []


def test_a_partition_that_could_not_be_observed_keeps_its_owner() -> None:
    desk = Desk()
    desk.look(FIRST)
    blind = Snapshot(cycle=1, leading=True, partitions=(view(0, None, problem="no answer"),))

    assert desk.hear(e.CycleEnded(0.1, blind)) == []


def test_many_changes_of_one_kind_are_one_entry() -> None:
    desk = Desk()
    desk.look(*[None] * 40)

    assert desk.look(*[FIRST] * 40) == [
        "came|40 partitions: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 ...|one:1 and others|version 0.2.0"
    ]
