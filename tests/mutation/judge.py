"""The tests, collected once in this process, as judges of one mutant after another.

    collect --> survey: every test once, on whole scripts --> judge(mutant) --> judge(mutant) ...

In the survey each script has one comment more. A test that knows scripts by their hash, and would
thus call every mutant dead, fails there: nothing is judged until it is fixed.

It is a plugin of pytest that has the place of its main loop. Session fixtures, thus servers, live
on from mutant to mutant; when a mutant hung or ended a server, all are torn down and made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pytest
from _pytest.runner import runtestprotocol

from queuepool.servers import wire
from queuepool.verbs import scripts
from queuepool.verbs.scripts import Script
from tests.mutation.mutants import Mutant
from tests.mutation.watch import OutOfTimeError, Servers

ROOT = Path(__file__).parents[2]
JUDGES = ("tests/contract", "tests/integration/servers/test_slot_migration.py",
          "tests/mutation/walk_beside_model.py")  # fmt: skip
# Another engine runs the same scripts, and memory runs none.
_LEFT_OUT = ("[memory", "[redis-server", "redis-server]")
_TIME_LIMIT_S = 4.0  # and ten times what a test takes on whole scripts


class NotGreenError(Exception):
    """A test fails on the scripts as they are."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a mutant. killer: the test that failed, None if none did."""

    script: str
    line: int
    text: str
    killer: str | None
    out_of_time: bool
    seconds: float


@dataclass(slots=True)
class _Record:
    """What is known of a test: what it calls; its seconds on whole scripts; its kills."""

    calls: set[str]
    seconds: float
    kills: dict[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)

    def worth(self, script: str) -> float:
        """Return the kills a second that may be hoped for."""
        kills = self.kills.get(script, 0) + 0.1 * sum(self.kills.values()) + 0.05
        return kills / (self.spent.get(script, 0) + self.seconds + 0.005)


@dataclass(frozen=True, slots=True)
class _Keep:
    """In the place of the next test: what belongs to the session outlives this one."""

    session: pytest.Session

    def listchain(self) -> list[pytest.Session]:
        return [self.session]


class Judge:
    """Judges mutants. `work` is called once, with the judge, when it has surveyed the tests."""

    def __init__(self, work: Callable[[Judge], None]) -> None:
        self._work = work
        self._servers = Servers()
        self._items: list[pytest.Item] = []
        self._records: dict[str, _Record] = {}
        self._mutant: Script | None = None
        self._disguise = False
        self._called: set[str] = set()
        self._told = ""  # by the last test that failed
        self.error: Exception | None = None

    # What pytest calls

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [i for i in items if not any(part in i.nodeid for part in _LEFT_OUT)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = session.items
        whole = scripts.script

        def script(name: str) -> Script:
            self._called.add(name)
            if self._disguise:
                return scripts.named(
                    name, whole(name).source + b"\n-- the same in all but this line"
                )
            if self._mutant is not None and self._mutant.name == name:
                return self._mutant
            return whole(name)

        with pytest.MonkeyPatch.context() as patch, self._servers.watched():
            patch.setattr(wire, "script", script)
            patch.setattr(scripts, "script", script)
            try:
                self._survey()
                self._work(self)
            except Exception as error:  # told by the caller of pytest
                self.error = error
            session._setupstate.teardown_exact(None)
        return True

    # What the work calls

    def judge(self, mutant: Mutant) -> Verdict:
        """Return whether a test notices a mutant."""
        self._mutant = scripts.named(mutant.script, mutant.source)
        began = monotonic()
        killer, out_of_time = None, False
        for item in self._in_order(mutant.script):
            record = self._records[item.nodeid]
            failed, out_of_time, seconds = self._run(item)
            if failed:  # a test that fails by chance, or on a busy machine, is no judge
                failed, out_of_time, _ = self._run(item)
            record.spent[mutant.script] = record.spent.get(mutant.script, 0) + seconds
            if failed:
                record.kills[mutant.script] = record.kills.get(mutant.script, 0) + 1
                killer = item.nodeid
                break
        self._mutant = None
        seconds = monotonic() - began
        return Verdict(mutant.script, mutant.line, mutant.text, killer, out_of_time, seconds)

    def _in_order(self, script: str) -> list[pytest.Item]:
        judges = [i for i in self._items if script in self._records[i.nodeid].calls]
        return sorted(judges, key=lambda i: -self._records[i.nodeid].worth(script))

    def _survey(self) -> None:
        self._disguise = True
        for item in self._items:
            self._called = set()
            failed, _, seconds = self._run(item)
            self._records[item.nodeid] = _Record(set(self._called), seconds)
            if failed:
                raise NotGreenError(f"fails on whole scripts: {item.nodeid}\n{self._told}")
        self._disguise = False

    def _run(self, item: pytest.Item) -> tuple[bool, bool, float]:
        """Run a test; return whether it failed, whether by its time, and its seconds."""
        known = self._records.get(item.nodeid)
        limit_s = _TIME_LIMIT_S + 10 * known.seconds if known else 120.0
        item._initrequest()  # type: ignore[attr-defined]  # so that it may run again
        began, reports, out_of_time = monotonic(), [], False
        try:
            with self._servers.time_limit(limit_s):
                reports = runtestprotocol(item, log=False, nextitem=_Keep(item.session))  # type: ignore[arg-type]
        except OutOfTimeError:  # outside of the test's phases
            out_of_time = True
        seconds = monotonic() - began
        out_of_time = out_of_time or seconds >= limit_s
        if out_of_time or not self._servers.in_order():
            self._servers.kill()
            _tear_down(item.session)
        failures = [report for report in reports if report.failed]
        self._told = str(failures[0].longrepr)[-2000:] if failures else ""
        failed = out_of_time or bool(failures)
        return failed, out_of_time, seconds


def _tear_down(session: pytest.Session) -> None:
    try:
        session._setupstate.teardown_exact(None)
    except Exception:  # a fixture that misses its server has nothing to tell
        session._setupstate.stack.clear()


def run_judge(work: Callable[[Judge], None], tests: Sequence[str] = JUDGES) -> None:
    """Collect tests in this process, survey them, and let work judge. Raises what work raises."""
    judge = Judge(work)
    code = pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=native", "--assert=plain",
         "--rootdir", str(ROOT), *(str(ROOT / t) for t in tests)],
        plugins=[judge],
    )  # fmt: skip
    if judge.error is not None:
        raise judge.error
    if code:
        raise NotGreenError(f"the tests could not be collected: pytest ended with {code}")
