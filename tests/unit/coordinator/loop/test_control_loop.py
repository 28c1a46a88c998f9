from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from coordinator.assembly import assemble
from coordinator.core.events import CycleEnded, LeaderChanged, LeadGained, LeadLost, TurnFailed
from coordinator.loop.watchdog import Watchdog
from coordinator.settings import load
from coordinator.snapshots.store import SnapshotStore
from coordinator.telemetry.metrics import Metrics
from queuepool.client.pool import QueuePool
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.verbs import Verb
from tests.unit.coordinator.ports import FakeServer, observation
from tests.waiting import wait_until

FAST = {"cycle_s": 0.05, "lease_s": 60.0, "request_timeout_s": 0.2}


class Rig:
    def __init__(self) -> None:
        self.server = FakeServer(self.answer)
        self.leading, self.epoch = True, 9
        self.breaks = False
        self.events: list[Any] = []
        self.store = SnapshotStore()
        config = PoolConfig(topology=build({"main": "redis://fake"}, 1, ""))
        pool = QueuePool(config=config, servers={"main": self.server})
        self.coordinator = assemble(pool, load(FAST), store=self.store, emit=self.events.append)

    def answer(self, _key: bytes, verb: Verb[Any]) -> Any:
        if self.breaks:
            raise RuntimeError("a bug")
        match verb.script:
            case "lead":
                return [int(self.leading), self.epoch, 1_000, 900, b"other:1", []]
            case "observe":
                return observation(1_000, jobs=5, oldest_ms=40, r2=5)
            case "command":
                return [1, "-".join(map(str, verb.args[:2])).encode()]
            case "read_policy":
                return [0, b"", b"", b"", 0]
            case _:
                return 1

    def seen(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def test_turns_go_on_until_stop_which_resigns() -> None:
    rig = Rig()
    rig.coordinator.start()
    wait_until(lambda: len(rig.seen(CycleEnded)) >= 3)

    assert rig.coordinator.stop(60)
    assert rig.coordinator.stop(60)  # again, without effect

    assert rig.server.asked[-1][1].script == "resign"
    assert rig.seen(LeadGained) == [LeadGained(9)]
    assert rig.seen(LeadLost)[-1].why == "this process is stopping"


def test_stop_is_legal_before_start() -> None:
    assert Rig().coordinator.stop()


def test_an_outage_is_survived_and_the_last_view_stays_with_its_problem() -> None:
    rig = Rig()
    rig.coordinator.loop.turn()
    rig.server.away = True

    rig.coordinator.loop.turn()

    view = rig.store.snapshot.partitions[0]
    assert view.problem == "fake: no answer"
    assert view.state is not None
    assert view.state.backlog == 5
    assert rig.store.snapshot.servers == {"main": False}
    rig.server.away = False
    rig.coordinator.loop.turn()
    assert rig.store.snapshot.partitions[0].problem == ""


def test_a_turn_that_breaks_off_is_told_and_does_not_end_the_loop() -> None:
    rig = Rig()
    rig.breaks = True
    rig.coordinator.start()
    wait_until(lambda: rig.seen(TurnFailed))
    assert not rig.seen(CycleEnded)

    rig.breaks = False

    wait_until(lambda: rig.seen(CycleEnded))
    assert rig.coordinator.stop(60)


def test_the_lead_passes_to_another_and_comes_back_under_a_new_epoch() -> None:
    rig = Rig()
    rig.coordinator.loop.turn()
    rig.leading, rig.epoch = False, 10

    rig.coordinator.loop.turn()
    assert not rig.store.snapshot.leading
    rig.leading, rig.epoch = True, 11
    rig.coordinator.loop.turn()

    lost, gained = rig.seen(LeadLost)[0], rig.seen(LeadGained)[0]
    assert (lost.epoch, lost.why) == (gained.epoch, "another coordinator leads")
    assert rig.seen(LeaderChanged) == [LeaderChanged(10, "other:1")]
    assert rig.seen(LeadGained) == [LeadGained(9), LeadGained(11)]
    noops = [v.args[0] for _, v in rig.server.asked if v.script == "command"]
    assert noops == [9, 11]


def test_a_standby_observes_and_writes_nothing() -> None:
    rig = Rig()
    rig.leading = False

    rig.coordinator.loop.turn()

    assert {verb.script for _, verb in rig.server.asked} == {"lead", "observe", "read_policy"}
    assert rig.store.snapshot.partitions[0].state is not None


def test_a_standby_wakes_when_the_lease_ends() -> None:
    rig = Rig()
    rig.leading = False
    standing = rig.coordinator.loop.turn()

    rig.coordinator.loop._cycle_s = 60.0

    assert 0.9 <= rig.coordinator.loop.pause_s(standing, 0.0) <= 1.0 + 60 * 0.05


def test_the_watchdog_ends_a_process_whose_loop_hangs() -> None:
    class Hung:
        idle_s = 5.0

    told: list[str] = []
    watchdog = Watchdog(Hung(), 0.1, told.append)
    watchdog.start()

    wait_until(lambda: told)
    watchdog.stop()

    assert "the control loop has not completed a pass for 5.0 s" in told[0]
    assert told == [watchdog.problem()]


def test_the_watchdog_lets_a_loop_that_was_frozen_go_on() -> None:
    class Frozen:
        looks = 0

        @property
        def idle_s(self) -> float:
            self.looks += 1
            return 60.0 if self.looks == 1 else 0.0

    told: list[str] = []
    loop = Frozen()
    watchdog = Watchdog(loop, 0.1, told.append)
    watchdog.start()

    wait_until(lambda: loop.looks >= 5)
    watchdog.stop()

    assert told == []


def test_metrics_follow_events_and_the_newest_snapshot() -> None:
    rig = Rig()
    registry = CollectorRegistry()
    metrics = Metrics(registry, rig.store)
    rig.coordinator.loop.turn()
    for event in rig.events:
        metrics(event)

    text = generate_latest(registry).decode()

    for line in (
        "queuepool_coordinator_leader 1.0",
        'queuepool_ready_jobs{partition="0",tier="default"} 5.0',
        'queuepool_jobs{partition="0",state="ready"} 5.0',
        'queuepool_oldest_waiting_seconds{partition="0"} 0.04',
        'queuepool_pwqd{partition="0"} 5.0',
        'queuepool_workers{partition="0",state="running"} 0.0',
        'queuepool_coordinator_decisions_total{direction="hold"} 1.0',
        'queuepool_job_events_total{event="done",partition="0"} 0.0',
    ):
        assert line in text


def test_a_partition_that_cannot_be_seen_has_no_values_rather_than_old_ones() -> None:
    rig = Rig()
    registry = CollectorRegistry()
    metrics = Metrics(registry, rig.store)
    rig.coordinator.loop.turn()
    rig.server.away = True
    rig.coordinator.loop.turn()
    for event in rig.events:
        metrics(event)

    text = generate_latest(registry).decode()

    assert 'queuepool_pwqd{partition="0"}' not in text
    assert 'queuepool_coordinator_observe_failures_total{server="main"} 1.0' in text
