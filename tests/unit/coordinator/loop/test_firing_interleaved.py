"""Leaders that are killed and frozen at any of their calls, a thousand times: each time fires once.

Every leader is a thread that stops before and after each call of the server, and goes on only when
it is told to. One that was replaced does not notice: it goes on believing that it leads.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from coordinator.loop.firing import ScheduleRunner
from queuepool import Schedule
from queuepool.testing import run_jobs
from queuepool.verbs import Verb
from tests.unit.coordinator.loop.leading import Leading, note

pytestmark = pytest.mark.thorough

STRUCK = 1000  # kills and freezes
MINUTE_MS = 60_000


class _KilledError(BaseException):
    """The process ends here; nothing catches it."""


class Process(threading.Thread):
    """A coordinator that leads, or believes so. steps: how far it is in a look, 0 between two."""

    def __init__(self, runner: ScheduleRunner) -> None:
        super().__init__(daemon=True)
        self.runner, self.steps, self.killed, self.tired = runner, 0, False, False
        self._go, self._halted = threading.Semaphore(0), threading.Semaphore(0)

    def run(self) -> None:
        try:
            self._go.acquire()
            while not self.killed:
                self.tired = not self.runner.look()
                self.steps = -1
                self.halt()
        except _KilledError:
            pass
        self._halted.release()

    def halt(self) -> None:
        """Stop here until told to go on."""
        self.steps += 1
        self._halted.release()
        self._go.acquire()
        if self.killed:
            raise _KilledError

    def step(self) -> None:
        """Let it run until its next halt."""
        self._go.release()
        self._halted.acquire()

    def kill(self) -> None:
        """End it where it is."""
        self.killed = True
        self.step()


class Stage:
    """Some leaders at once, of which the last one is the leader."""

    def __init__(self, seed: int) -> None:
        self.rig, self.random, self.struck = Leading(), random.Random(seed), 0
        self._plain = self.rig.pool.server.run
        self.rig.pool.server.run = self._halting  # type: ignore[method-assign]
        self.processes: list[Process] = []

    def _halting(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Any]:
        this = threading.current_thread()
        if not isinstance(this, Process):
            return self._plain(key, verbs)
        this.halt()
        replies = self._plain(key, verbs)
        this.halt()
        return replies

    def elect(self) -> Process:
        """Let another process lead; those before are frozen, wherever they are."""
        self.struck += sum(process.steps > 0 for process in self.processes)
        process = Process(self.rig.elect(commands=self.random.random() < 0.3))
        process.start()
        self.processes.append(process)
        if len(self.processes) > 3:
            self.kill(self.processes[0])
        return process

    def kill(self, process: Process) -> None:
        """End a process."""
        self.struck += 1
        process.kill()
        self.processes.remove(process)

    def act(self) -> None:
        """Let anything happen."""
        kind = self.random.random()
        if not self.processes or kind < 0.03:
            self.elect()
        elif kind < 0.06:
            self.kill(self.random.choice(self.processes))
        elif kind < 0.09:
            self.rig.pass_(self.random.choice([1, 5, 20, 30, 60, 300]))
        elif kind < 0.1:
            run_jobs(self.rig.pool)
        elif kind < 0.103:
            name = self.random.choice(["all", "skip"])
            self.rig.pool.schedules.set(minutely(name, timeout_s=self.random.randint(1, 99)))
        else:
            self.random.choice(self.processes).step()

    def end(self) -> None:
        """Kill all, and let a last one fire what is due."""
        while self.processes:
            self.kill(self.processes[0])
        last = self.rig.elect()
        while last.look():
            pass


def minutely(name: str, **fields: Any) -> Schedule:
    rule: dict[str, Any] = {"missed": name, "catch_up": 1000} if name == "all" else {"missed": name}
    return Schedule(name, note, every=60, **rule, **fields)


@pytest.mark.parametrize("seed", range(2))
def test_a_thousand_kills_and_freezes_fire_each_time_once(seed: int) -> None:
    stage = Stage(seed)
    names = ["all", "skip", "one"]
    for name in names:
        stage.rig.pool.schedules.set(minutely(name))
    begin = stage.rig.status("one").since_ms // MINUTE_MS
    while stage.struck < STRUCK / 2:
        stage.act()
    stage.end()

    rig = stage.rig
    times = int(rig.pool.clock() * 1000) // MINUTE_MS - begin
    fired = {name: [i for i in rig.fired if i.startswith(f"{name}:")] for name in names}
    assert set(rig.fired.values()) == {1}
    assert len(fired["all"]) == times
    assert 0 < len(fired["skip"]) < len(fired["one"]) < times
    counted = rig.status("one").state  # one that was not recorded may be counted as missed later
    assert counted.fired <= len(fired["one"])
    assert counted.fired + counted.missed == times
    assert rig.status("all").state.fired == times
