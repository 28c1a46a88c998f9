"""Every place at which a process can die: scenarios, run again for each of their script calls.

    before   the process dies before it sends the call; what stood before it in its turn is done
    after    the call is done, the process dies before it hears the answer
    unheard  the call is done, the answer is lost, the process lives

Then nothing else goes wrong, a successor takes over, and every promise must have been kept. Of a
producer the successor is the same program, run again with the same ids; of operators it makes the
same change again.

    python -m tests.simulation.crash_points        list every point and what came of it
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from queuepool.errors import UnavailableError
from queuepool.models import Limit
from queuepool.servers import Reply
from tests.simulation.extras import TENANT, Change, Extras
from tests.simulation.journal import Journal
from tests.simulation.ledger import Ledger
from tests.simulation.limiting import LimitChange, Limits
from tests.simulation.network import Answer, Calls, Network
from tests.simulation.operating import LimitPeople, Operators
from tests.simulation.producing import Applications
from tests.simulation.scenario import POOL, Faults, Scenario
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.simulation import Result, Simulation

MODES = ("before", "after", "unheard")
_AGAIN_S = 0.3
_RUN_AGAIN = (Applications, Operators, LimitPeople)
SCENARIO = Scenario(
    seed=114,
    faults=Faults(lose=0.04, kills=(0.9,), drains=(1.9, 2.6), coordinator_kills=(1.5,)),
    jobs=24,
    groups=2,
    calls=4,
    spread_s=2.5,
    job_s=(0.1, 0.5),
    fails=0.2,
    buries=0.08,
    asks_later=0.05,
    poison=1,
    cancels=10,
    cancel_group=False,
    delayed=0.2,
    consumers=2,
    coordinators=1,
    workers=2,
    prefetch=5,
    lease_s=1.5,
    drain_s=0.3,
    max_crashes=2,
    repeats=0.3,
    quiet_s=5.0,
    finish_within_s=60.0,
)
WITH_EXTRAS = replace(
    SCENARIO,
    seed=125,
    faults=replace(SCENARIO.faults, coordinator_kills=()),
    coordinators=0,
    jobs=16,
    cancels=2,
    finish_within_s=90.0,
    extras=Extras(
        changes=(
            Change(0.0, 0, {"serial": True}),
            Change(0.0, 1, {"max_running": 1}),
            Change(1.6, 1, {"hold": True}),
            Change(2.4, 1, {"hold": False, "max_running": 2}),
            Change(1.0, None, {"hold": True}),
            Change(1.3, None, {"hold": False}),
            Change(0.2, TENANT, {"max_running": 1, "weight": 2}),
            Change(1.8, TENANT, {"hold": True}),
            Change(2.2, TENANT, {"hold": False, "max_running": 2}),
        ),
        unique=0.6,
        keys=4,
        expires=0.6,
        tenant=True,
    ),
)
WITH_LIMITS = replace(
    WITH_EXTRAS,
    seed=6,
    jobs=14,
    fails=0.1,
    finish_within_s=120.0,
    extras=None,
    limits=Limits(
        code=(Limit("both", rate=20, burst=2, concurrency=2), Limit("one", concurrency=1)),
        refuses=0.1,
        changes=(
            LimitChange(0.8, "both", Limit("both", rate=10, concurrency=3)),
            LimitChange(1.2, "one", pause=True),
            LimitChange(1.6, "one", pause=False),
        ),
    ),
)
WITH_POOL = replace(
    WITH_LIMITS,
    seed=4,
    jobs=8,
    calls=2,
    pool=POOL,
    faults=replace(WITH_LIMITS.faults, kills=(), drains=(1.9,)),
    limits=Limits(code=(Limit("one", concurrency=1),)),
)
SCENARIOS = (SCENARIO, WITH_EXTRAS, WITH_LIMITS, WITH_POOL)


@dataclass(frozen=True, slots=True)
class Point:
    """One call of the scenario: its number, who made it, and its script."""

    number: int
    who: str
    script: str

    def __str__(self) -> str:
        return f"{self.number:4d}  {self.who:<14} {self.script}"


class CrashingNetwork(Network):
    """A network on which the caller of one call dies. target: the number of the call, or -1."""

    def __init__(
        self,
        scheduler: Scheduler,
        ledger: Ledger,
        scenario: Scenario,
        rng: random.Random,
        target: int = -1,
        mode: str = "before",
    ) -> None:
        super().__init__(scheduler, ledger, scenario, rng)
        self._target, self._mode = target, mode
        self.points: list[Point] = []

    def call(
        self,
        process: Process,
        calls: Calls,
        on_reply: Callable[[Answer], None],
        *,
        home: bool = False,
    ) -> None:
        done = self._count(process, calls)
        if done is None:
            super().call(process, calls, on_reply, home=home)
            return
        self._last_words(process, done)
        again_s = 0.0
        if self._mode != "unheard" and not isinstance(process, _RUN_AGAIN):
            self.crash(process)
        elif self._mode != "unheard":
            again_s = _AGAIN_S
        process.after(again_s, lambda: on_reply(UnavailableError("simulated: the answer is lost")))

    def answer(self, process: Process, calls: Calls, on_reply: Callable[[Answer], None]) -> None:
        done = self._count(process, calls)
        if done is None:
            super().answer(process, calls, on_reply)
            return
        self._last_words(process, done)
        if self._mode != "unheard":
            self.crash(process)
        process.after(0.0, lambda: on_reply(UnavailableError("simulated: the answer is lost")))

    def run_now(self, process: Process, calls: Calls) -> list[Reply]:
        if process.dead:
            raise UnavailableError("simulated: the caller is dead")
        done = self._count(process, calls)
        if done is None:
            return super().run_now(process, calls)
        self._last_words(process, done)
        if self._mode != "unheard":
            self.crash(process)
        raise UnavailableError("simulated: the answer is lost")

    def _count(self, process: Process, calls: Calls) -> Calls | None:
        """Return what of these calls is still done when this is where the caller dies."""
        first = len(self.points)
        self.points += [
            Point(first + i, process.name, verb.script) for i, (_, verb) in enumerate(calls)
        ]
        if not first <= self._target < len(self.points):
            return None
        return calls[: self._target - first + (self._mode != "before")]

    def _last_words(self, process: Process, done: Calls) -> None:
        point = self.points[self._target]
        self._ledger.journal.note(self.scheduler.now_s, "crash point", f"{self._mode} {point}")
        self._ledger.journal.seen[f"crash at {point.number}"] += 1
        self.quiet = True  # one crash at a time; kills and stalls of the scenario go on
        if done:
            self.unheard(done, self._ledger.run(done))


def undisturbed(scenario: Scenario) -> tuple[list[Point], Journal]:
    """Return every call of a scenario when no one dies, and what happened."""
    networks: list[CrashingNetwork] = []

    def listen(s: Scheduler, ledger: Ledger, c: Scenario, r: random.Random) -> Network:
        networks.append(CrashingNetwork(s, ledger, c, r))
        return networks[0]

    result = Simulation(scenario, new_network=listen).run()
    assert not result.violations, result.violations
    return networks[0].points, result.journal


def crash_at(scenario: Scenario, number: int, mode: str) -> Result:
    """Run a scenario with a crash at one of its points."""

    def crashing(s: Scheduler, ledger: Ledger, c: Scenario, r: random.Random) -> Network:
        return CrashingNetwork(s, ledger, c, r, number, mode)

    return Simulation(scenario, new_network=crashing).run()


def outcomes(scenario: Scenario, found: Sequence[Point]) -> Iterator[tuple[Point, str, list[str]]]:
    """Yield (point, mode, violations) of every point and mode."""
    for point in found:
        for mode in MODES:
            yield point, mode, crash_at(scenario, point.number, mode).violations


def main() -> int:
    """List every point with its outcome; returns 0 when all are clean."""
    calls, unclean, runs = 0, 0, 0
    for scenario in SCENARIOS:
        found, _ = undisturbed(scenario)
        calls += len(found)
        for point, mode, violations in outcomes(scenario, found):
            runs += 1
            unclean += bool(violations)
            result = "; ".join(violations) or "clean"
            sys.stdout.write(f"{point!s:<40} {mode:<8} {result}\n")
    sys.stdout.write(f"{calls} calls, {runs} crashes, {unclean} not clean\n")
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
