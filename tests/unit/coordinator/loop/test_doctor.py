"""The coordinator's doctor: looks at everything in turn, publishes a verdict, reports changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from coordinator.core.events import FindingCame, FindingWent
from coordinator.core.model import Mode, PartitionDecision, PartitionView, Snapshot
from coordinator.loop import doctor
from coordinator.loop.doctor import DoctorWatch
from coordinator.snapshots.store import SnapshotStore
from coordinator.snapshots.verdict import VerdictBoard
from queuepool.client import checkup
from queuepool.client.effects import Steps
from queuepool.errors import ConfigurationError
from queuepool.models import RouteRecord
from queuepool.models.doctor import ServerFigures
from queuepool.routing.views import MOD
from queuepool.testing.pool import MemoryPool
from queuepool.verbs.leader import verbs as lead

DAY_S = 86_400.0


class Ward:
    """A queue in memory, its coordinator's snapshots, and a doctor."""

    def __init__(self, partitions: int = 4) -> None:
        self.pool = MemoryPool(partitions)
        self.store, self.board = SnapshotStore(), VerdictBoard()
        self.events: list[object] = []
        self.doctor = DoctorWatch(self.pool, self.store, self.board, emit=self.events.append)

    def look(self, *, cycle: int = 1, clamps: Sequence[str] = ()) -> list[tuple[str, str]]:
        """Let the loop observe and the doctor judge; return what is found, apart from clocks."""
        server, key = self.pool.system
        server.run(key, [lead.lead("n", lease_ms=60_000, address="a")])
        views = tuple(
            PartitionView(
                partition=place.number,
                server="memory",
                state=place.observe(),
                seen_s=1.0,
                problem="",
                finished_per_s=0.0,
                target=1,
                manual_until_ms=None,
                decision=PartitionDecision(
                    partition=place.number,
                    mode=Mode.AUTOMATIC,
                    previous=1,
                    target=1,
                    reason="",
                    clamps=tuple(clamps),
                ),
            )
            for place in self.pool.partitions()
        )
        self.store.publish(Snapshot(cycle=cycle, leading=True, partitions=views))
        verdict = self.doctor.look()
        found = verdict.findings if verdict is not None else ()
        return [(one.kind, one.subject) for one in found if one.kind != "clock-skew"]


def test_a_partition_that_was_retired_after_the_observation_is_left_out() -> None:
    ward = Ward()
    ward.look()
    server = ward.pool.config.topology.system
    fewer = RouteRecord(
        version=2, partitions=2, layout=MOD, created_ms=1, servers=f"0-1={server}", homes=2
    )

    ward.pool.config.topology.follow(fewer)

    assert ward.doctor.look() is not None
    assert ward.board.advised is not None
    with pytest.raises(ConfigurationError, match="use 0 to 1 of the route record"):
        ward.pool.partition(3)


def test_before_the_first_observation_there_is_no_verdict() -> None:
    ward = Ward()

    assert ward.doctor.look() is None
    assert ward.board.latest is None
    assert ward.board.advised is None


def test_every_look_tells_the_loads_of_partitions() -> None:
    ward = Ward()
    ward.look()

    assert ward.board.advised is not None
    assert [place.partition for place in ward.board.advised.loads.places] == [0, 1, 2, 3]
    assert ward.board.advised.advice == ()


def test_what_begins_and_ends_is_reported_once() -> None:
    ward = Ward()
    assert ward.look() == []
    ward.pool.hold(partition=2)
    ward.pool.clock.advance(DAY_S)

    found = [ward.look(), ward.look()]
    ward.pool.release(partition=2)
    later = ward.look()

    assert found == [[("held", "partition 2")]] * 2
    assert later == []
    told = [e for e in ward.events if getattr(e, "finding", None) and e.finding.kind == "held"]  # type: ignore[attr-defined]
    assert [type(event) for event in told] == [FindingCame, FindingWent]


def told(ward: Ward, kind: str) -> list[tuple[type, str]]:
    """Return what was reported of a kind of findings, and about what."""
    found = [e for e in ward.events if isinstance(e, FindingCame | FindingWent)]
    return [(type(e), e.finding.subject) for e in found if e.finding.kind == kind]


def test_what_becomes_worse_is_reported_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ward, figures = Ward(), ServerFigures(name="main", limit=100)

    def used(percent: int) -> None:
        def asked(_config: object) -> Steps[tuple[ServerFigures, ...]]:
            yield from ()
            return (replace(figures, used=percent),)

        monkeypatch.setattr(checkup, "ask_servers", asked)
        ward.look()

    for percent in (91, 92, 98, 99, 91, 0):
        used(percent)

    assert told(ward, "memory") == [
        (FindingCame, "server main"), (FindingCame, "server main"), (FindingWent, "server main"),
    ]  # fmt: skip


def test_of_very_many_alike_the_rest_is_reported_once() -> None:
    ward = Ward(partitions=40)
    ward.pool.hold()
    ward.pool.clock.advance(DAY_S)
    ward.look()
    begun = told(ward, "held")
    for number in (9, 8):  # these come last by name
        ward.pool.release(partition=number)
        ward.look()

    assert len(begun) == 21
    assert (FindingCame, "20 more") in begun
    assert told(ward, "held") == begun
    ward.pool.release()
    ward.look()
    assert sum(event is FindingWent for event, _ in told(ward, "held")) == 21


def test_a_group_held_for_long_is_found_and_with_it_a_job_that_runs_for_long() -> None:
    ward = Ward(partitions=1)
    ward.pool.enqueue("t", {}, partition_key="g")
    ward.pool.group("g").hold()
    ward.pool.clock.advance(DAY_S)

    assert ("held", "group g") in ward.look()


def test_jobs_without_an_owner_are_found_with_the_time_since_when() -> None:
    ward = Ward(partitions=1)
    ward.pool.enqueue("t", {}, partition_key="g")
    ward.pool.clock.advance(14)
    assert ward.look() == []

    ward.pool.clock.advance(2)

    assert ward.look() == [("no-owner", "partition 0")]
    assert ward.board.latest is not None
    [found] = [one for one in ward.board.latest.findings if one.kind == "no-owner"]
    assert found.since_ms == ward.board.latest.at_ms - 16_000


def test_every_partition_is_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CLOSE", 3)
    ward = Ward(partitions=8)
    keys = {ward.pool.group(f"g{n}").partition.number: f"g{n}" for n in range(100)}
    for key in keys.values():
        ward.pool.enqueue("t", {}, partition_key=key)
        ward.pool.group(key).hold()
    ward.pool.clock.advance(DAY_S)

    counts = [sum(kind == "held" for kind, _ in ward.look()) for _ in range(4)]

    assert len(keys) == 8
    assert counts == [3, 6, 8, 8]


def test_a_snapshot_whose_partition_could_not_be_observed_is_not_judged_by_old_states() -> None:
    ward = Ward(partitions=1)
    ward.pool.enqueue("t", {}, partition_key="g")
    ward.pool.clock.advance(20)
    assert ward.look() == [("no-owner", "partition 0")]
    [view] = ward.store.snapshot.partitions

    ward.store.publish(
        replace(ward.store.snapshot, partitions=(changed(view, problem="no answer"),))
    )
    verdict = ward.doctor.look()

    assert verdict is not None
    assert all(one.kind != "no-owner" for one in verdict.findings)
