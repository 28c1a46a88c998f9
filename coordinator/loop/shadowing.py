"""Runs a candidate beside the live policy, on a thread of its own.

The live loop only hands over its cycles: a candidate that is slow misses some, and one that fails
ends, with the reason in its report. Neither touches what is decided.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from coordinator.core.events import ShadowEnded, ShadowStarted
from coordinator.core.overlays.shadowing import Candidate
from coordinator.core.replay.cycle import Cycle
from coordinator.core.replay.shadow import Shadow
from coordinator.policy import Policy
from coordinator.snapshots.cycles import CycleFeed
from coordinator.snapshots.shadows import ShadowBoard, ShadowReport
from queuepool.errors import QueuePoolError
from queuepool.errors.hindrances import start_thread
from queuepool.telemetry.events import Listener, ignore

_LOOK_S = 5.0
_REPORT_EVERY = 5  # cycles; a report takes a while over many waits


class MakePolicy(Protocol):
    """Makes a policy from its name, and settings that take precedence."""

    def __call__(self, name: str, overrides: Mapping[str, Any], /) -> Policy[Any, Any]: ...


class ShadowRunner:
    """Shows cycles to the candidate that they name, from start() to stop()."""

    def __init__(
        self,
        feed: CycleFeed,
        board: ShadowBoard,
        make_policy: MakePolicy,
        *,
        emit: Listener = ignore,
    ) -> None:
        self._feed, self._board, self._make_policy = feed, board, make_policy
        self._emit = emit
        self._shadow: Shadow | None = None
        self._set: Candidate | None = None
        self._stopping, self._woken = threading.Event(), threading.Event()
        # A daemon: a candidate that never returns does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-shadow", daemon=True)
        self._missed = 0

    def start(self) -> None:
        """Start following; without a thread for it, there is no shadow. Call once."""
        with contextlib.suppress(QueuePoolError):
            start_thread(self._thread, "for the shadow of the policy")

    def stop(self) -> None:
        """Stop soon, without waiting. Idempotent, legal before start."""
        self._stopping.set()
        self._woken.set()

    def see(self, cycle: Cycle) -> None:
        """Show one cycle to the candidate that it names, if any. Does not raise."""
        wanted = cycle.planner.overrides.shadow
        if wanted is not None and not wanted.runs(cycle.now_ms):
            wanted = None
        if (None if wanted is None else wanted.text) != (self._set and self._set.text):
            self._change(wanted, cycle)
        shadow = self._shadow
        if shadow is None:
            return
        try:
            shadow.see(cycle)
            report = self._board.latest
            if report is not None and shadow.comparison_due(_REPORT_EVERY):
                comparison = shadow.comparison()
                self._board.latest = replace(report, comparison=comparison, missed=self._missed)
        except Exception as error:  # whatever the candidate does, the live policy goes on
            self._fail(error)

    def _change(self, wanted: Candidate | None, cycle: Cycle) -> None:
        if self._shadow is not None:
            self._end("")
        self._set, self._shadow, self._missed = wanted, None, 0
        if wanted is None:
            return
        try:
            policy = self._make_policy(wanted.policy, wanted.settings)
            shadow = Shadow(replace(cycle.planner, policy=policy))
        except Exception as error:
            self._emit(ShadowEnded(wanted.text, f"{type(error).__name__}: {error}"[:300]))
            return
        self._shadow = shadow
        self._board.latest = ShadowReport(
            text=wanted.text,
            since_ms=cycle.now_ms,
            until_ms=wanted.until_ms,
            comparison=shadow.comparison(),
        )
        self._emit(ShadowStarted(wanted.text))

    def _fail(self, error: Exception) -> None:
        self._end(f"{type(error).__name__}: {error}"[:300])

    def _end(self, problem: str) -> None:
        shadow, report = self._shadow, self._board.latest
        self._shadow = None
        if report is None or shadow is None:
            return
        if not problem:
            report = replace(report, comparison=shadow.comparison())
        self._board.latest = replace(report, problem=problem, missed=self._missed)
        self._emit(ShadowEnded(report.text, problem))

    def _run(self) -> None:
        follower = self._feed.follow(self._woken.set, most=2)
        if follower is None:
            return
        try:
            while not self._stopping.is_set():
                self._woken.wait(_LOOK_S)
                self._woken.clear()
                while (cycle := follower.take()) is not None and not self._stopping.is_set():
                    missed, follower.missed = follower.missed, 0
                    self._missed += missed
                    self.see(cycle)
        finally:
            self._feed.leave(follower)
