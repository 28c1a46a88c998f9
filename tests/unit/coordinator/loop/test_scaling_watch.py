"""The scaling record as a coordinator follows it: at once, and never a worse one than before."""

from __future__ import annotations

from typing import Any

from coordinator.assembly import assemble
from coordinator.core.events import ScalingChanged, ScalingRefused
from coordinator.core.overlays.values import ScaleMode, merged
from coordinator.core.planner import Planner
from coordinator.loop.scaling_watch import EVERY, REFUSALS, ScalingWatch
from coordinator.policy import Limits, make_policy
from coordinator.settings import load
from queuepool.client.pool import QueuePool
from queuepool.client.scaling import ScalingRecords
from queuepool.errors import ScriptError
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig
from queuepool.testing.server import MemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from tests.unit.coordinator.ports import FakeServer, observation

KEY = b"sys"


class Rig:
    """A watch of a record in memory, whose server may be away."""

    def __init__(self) -> None:
        self.memory = MemoryServer()
        self.server = FakeServer(lambda key, verb: self.memory.run(key, [verb])[0])
        self.records = ScalingRecords(self.server, KEY)
        self.events: list[Any] = []
        planner = Planner(policy=make_policy("static", workers=9), limits=Limits())
        self.watch = ScalingWatch(
            self.records,
            planner,
            lambda name, given: make_policy(name or "static", **given),
            emit=self.events.append,
        )

    def put(self, **values: str) -> None:
        self.records.change(values, merged, by="me")

    def plant(self, version: int, **values: str) -> None:
        """Store values that nobody here would accept."""
        verb = lead.set_policy(version, f"n{version}", values, by="them", reason="")
        assert verb.read(self.memory.run(KEY, [verb])[0])[0]

    def look(self, turns: int = EVERY) -> None:
        for _ in range(turns):
            self.watch.look()


def test_nothing_is_known_until_the_server_answers() -> None:
    rig = Rig()
    rig.server.away = True
    rig.look()
    known_before = rig.watch.is_known

    rig.server.away = False
    rig.put(mode="hold")
    rig.look(1)

    assert (known_before, rig.watch.is_known) == (False, True)
    assert rig.watch.planner.overrides.mode is ScaleMode.HOLD


def test_a_record_that_does_not_change_is_read_every_few_turns_and_told_once() -> None:
    rig = Rig()
    rig.put(max_workers="9")
    before = len(rig.server.asked)

    rig.look(10 * EVERY)

    assert len(rig.server.asked) - before <= 10 + 1
    assert [type(event) for event in rig.events] == [ScalingChanged]


def test_an_empty_record_at_the_start_is_no_news() -> None:
    rig = Rig()
    rig.look()

    assert rig.events == []
    assert rig.watch.in_force(0, rig.watch.planner).rules.limits == Limits()


def test_policy_and_settings_change_and_return() -> None:
    rig = Rig()
    plain = rig.watch.planner.policy
    rig.put(policy="sized", drain_s="1.5")
    rig.look()
    changed = rig.watch.planner.policy
    rig.put(policy="", drain_s="")
    rig.look()

    assert (changed.name, changed.settings.drain_s) == ("sized", 1.5)
    assert rig.watch.planner.policy is plain


def test_what_cannot_be_understood_keeps_the_last_good_one_and_is_told_once() -> None:
    rig = Rig()
    rig.put(max_workers="12")
    rig.look()
    version = rig.records.read().version

    rig.plant(version, of_tomorrow="1")
    rig.look(4 * EVERY)

    held = rig.watch.in_force(0, rig.watch.planner)
    refused = [event for event in rig.events if isinstance(event, ScalingRefused)]
    assert (held.rules.limits.max_workers, held.record.version) == (12, version)
    assert "'of_tomorrow' cannot be set" in held.problem
    assert len(refused) == 1
    rig.records.change({"max_workers": "13"}, merged, by="me", replace=True)
    rig.look()
    assert rig.watch.in_force(0, rig.watch.planner).rules.limits.max_workers == 13
    assert rig.watch.in_force(0, rig.watch.planner).problem == ""


def test_a_record_that_is_gone_returns_to_the_settings() -> None:
    rig = Rig()
    rig.put(max_workers="12")
    rig.look()
    rig.memory = MemoryServer()
    rig.look()

    assert rig.watch.in_force(0, rig.watch.planner).rules.limits == Limits()
    assert isinstance(rig.events[-1], ScalingChanged)


def test_an_older_acl_file_stops_no_leader() -> None:
    rig = Rig()
    rig.server.answer = lambda _key, _verb: ScriptError("NOPERM this user has no permissions")
    rig.look(REFUSALS - 1)
    known_before = rig.watch.is_known
    rig.look(3 * EVERY)

    assert (known_before, rig.watch.is_known) == (False, True)
    assert len(rig.events) == 1


def test_a_refused_read_at_the_start_breaks_no_hold() -> None:
    rig = Rig()
    rig.put(mode="hold")
    answer = rig.server.answer
    rig.server.answer = lambda _key, _verb: ScriptError("NOPERM this user has no permissions")
    rig.look(2)
    known_before = rig.watch.is_known
    rig.server.answer = answer
    rig.look(1)

    assert (known_before, rig.watch.is_known) == (False, True)
    assert rig.watch.planner.overrides.mode is ScaleMode.HOLD


def test_a_problem_of_reading_ends_with_the_next_read_that_succeeds() -> None:
    rig = Rig()
    rig.put(mode="hold")
    rig.look()
    answer = rig.server.answer
    rig.server.answer = lambda _key, _verb: ScriptError("NOPERM this user has no permissions")
    rig.look()
    problem = rig.watch.in_force(0, rig.watch.planner).problem
    rig.server.answer = answer
    rig.look()

    assert "NOPERM" in problem
    assert rig.watch.in_force(0, rig.watch.planner).problem == ""
    assert rig.watch.planner.overrides.mode is ScaleMode.HOLD


def test_a_policy_that_cannot_be_made_keeps_the_rest_of_the_record_in_force() -> None:
    rig = Rig()
    values = {"policy": "ratio", "threshold_pwqd": "2", "low_pwqd": "3"}  # of an older release
    rig.plant(0, mode="hold", max_workers="16", **values)
    rig.look()

    held = rig.watch.in_force(0, rig.watch.planner)
    assert (held.rules.mode, held.rules.limits.max_workers) == (ScaleMode.HOLD, 16)
    assert held.policy == "static"
    assert "low_pwqd=3.0" in held.problem
    assert "policy static stays as it is" in held.problem
    refused = [event for event in rig.events if isinstance(event, ScalingRefused)]
    assert [event.stays for event in refused] == ["policy static"]


def test_a_leader_that_does_not_know_the_record_decides_nothing() -> None:
    asked: list[str] = []

    def answer(_key: bytes, verb: Verb[Any]) -> Any:
        asked.append(verb.script)
        match verb.script:
            case "lead":
                return [1, 9, 1_000, 900, b"me:1", []]
            case "observe":
                return observation(1_000)
            case "command":
                return [1, "-".join(map(str, verb.args[:2])).encode()]
            case "read_policy" if silent:
                raise TimeoutError
            case "read_policy":
                return [0, b"", b"", b"", 0]
        return 1

    class Silent(FakeServer):
        def run_many(self, calls: Any) -> list[Any]:
            if silent and any(verb.script == "read_policy" for _, verb in calls):
                self.away = True
            try:
                return super().run_many(calls)
            finally:
                self.away = False

    silent = True
    config = PoolConfig(topology=build({"main": "redis://fake"}, 1, ""))
    pool = QueuePool(config=config, servers={"main": Silent(answer)})
    coordinator = assemble(pool, load({}))
    coordinator.loop.turn()
    assert "command" not in asked

    silent = False
    coordinator.loop.turn()

    assert "command" in asked
