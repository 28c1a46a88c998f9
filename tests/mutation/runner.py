"""The tests, collected once in this process, and run again and again on changed scripts.

It is a plugin of pytest that has the place of its main loop. Session fixtures, thus servers, live
on from run to run; when a script hung or ended a server, all are torn down and made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from queuepool.servers import wire
from queuepool.verbs import Verb, scripts
from queuepool.verbs.scripts import Script
from tests.contract.busy import Busy
from tests.mutation.marks import Reach, reached
from tests.mutation.watch import OutOfTimeError, Servers

ROOT = Path(__file__).parents[2]
# Another engine runs the same scripts, and memory runs none; and what takes minutes is no judge.
_LEFT_OUT = ("[memory", "[redis-server", "redis-server]", "test_large_batch.py")
# They try every verb on one busy partition, which they put back before each.
_VERB_BY_VERB = ("planted_values.py::test_every_verb", "probes.py::test_nor_does_any_call")
_TIME_LIMIT_S = 4.0  # and ten times what a test takes on whole scripts
_FIRST_LIMIT_S = 600.0  # as long as that is unknown


class NotGreenError(Exception):
    """A test fails on the scripts as they are."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of a test came to. told: by the failure, '' if there was none.

    reach: the lines with marks that scripts have reached, None if that is not known.
    """

    failed: bool
    out_of_time: bool
    seconds: float
    called: frozenset[str]
    told: str = ""
    reach: Reach | None = None


@dataclass(frozen=True, slots=True)
class _Keep:
    """In the place of the next test: what belongs to the session outlives this one."""

    session: pytest.Session

    def listchain(self) -> list[pytest.Session]:
        return [self.session]


class Runner:
    """Runs tests. `work` is called once, with the runner, when it has collected them."""

    def __init__(self, work: Callable[[Runner], None]) -> None:
        self._work = work
        self._servers = Servers()
        self._instead: Mapping[str, Script] = {}
        self._called: set[str] = set()
        self._verb_by_verb = False
        self.items: list[pytest.Item] = []
        self.error: Exception | None = None

    # What pytest calls

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [i for i in items if not any(part in i.nodeid for part in _LEFT_OUT)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        whole, all_verbs = scripts.script, Busy.verbs

        def script(name: str) -> Script:
            self._called.add(name)
            return self._instead.get(name) or whole(name)

        def verbs(scene: Busy) -> list[Verb[Any]]:
            """Return the verbs that are changed; of the others nothing is to be learnt."""
            every = all_verbs(scene)
            if not (self._verb_by_verb and self._instead):
                return every
            return [verb for verb in every if verb.script in self._instead]

        with pytest.MonkeyPatch.context() as patch, self._servers.watched():
            patch.setattr(wire, "script", script)
            patch.setattr(scripts, "script", script)
            patch.setattr(Busy, "verbs", verbs)
            try:
                self._work(self)
            except Exception as error:  # told by the caller of pytest
                self.error = error
            session._setupstate.teardown_exact(None)
        return True

    # What the work calls

    @contextmanager
    def in_place(self, instead: Mapping[str, Script]) -> Iterator[None]:
        """Give the tests these scripts instead of those of the same names."""
        self._instead = instead
        try:
            yield
        finally:
            self._instead = {}

    def run(self, item: pytest.Item, known_s: float | None = None) -> Run:
        """Run a test. known_s: what it takes on whole scripts; None in a survey."""
        limit_s = _FIRST_LIMIT_S if known_s is None else _TIME_LIMIT_S + 10 * known_s
        self._called, self._verb_by_verb = set(), any(t in item.nodeid for t in _VERB_BY_VERB)
        item._initrequest()  # type: ignore[attr-defined]  # so that it may run again
        began, reports, out_of_time, logged = monotonic(), [], False, self._servers.logged()
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
        log = self._servers.logged_since(logged) if known_s is None else None
        told = [str(report.longrepr)[-2000:] for report in reports if report.failed]
        failed = out_of_time or bool(told)
        called, reach = frozenset(self._called), None if log is None else reached(log)
        return Run(failed, out_of_time, seconds, called, "".join(told[:1]), reach)


def _tear_down(session: pytest.Session) -> None:
    try:
        session._setupstate.teardown_exact(None)
    except Exception:  # a fixture that misses its server has nothing to tell
        session._setupstate.stack.clear()


def run_tests(work: Callable[[Runner], None], tests: Sequence[str]) -> None:
    """Collect tests in this process, and let work run them. Raises what work raises."""
    runner = Runner(work)
    code = pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=native", "--assert=plain",
         "--rootdir", str(ROOT), *(str(ROOT / t) for t in tests)],
        plugins=[runner],
    )  # fmt: skip
    if runner.error is not None:
        raise runner.error
    if code:
        raise NotGreenError(f"the tests could not be collected: pytest ended with {code}")
