"""Follows the scaling record: reads it every few turns, and makes the planner that it asks for.

A record that cannot be read or understood changes nothing: the last good one holds, and the problem
is told once. Every coordinator reads it, so that whoever leads next knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from coordinator.core.events import ScalingChanged, ScalingRefused
from coordinator.core.model import InForce
from coordinator.core.overlays.rules import rules_at
from coordinator.core.overlays.values import Overrides, parse
from coordinator.core.planner import Planner
from coordinator.policy import Policy
from queuepool.client.scaling import ScalingRecords
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.models import ScalingRecord
from queuepool.telemetry.events import Listener, ignore

EVERY = 3  # turns
MakePolicy = Callable[[str | None, Mapping[str, Any]], Policy[Any, Any]]


class ScalingWatch:
    """The record as this process knows it. Used by the loop's thread.

    planner: that of the settings; make_policy: of a name and of settings that take precedence.
    """

    def __init__(
        self,
        records: ScalingRecords,
        planner: Planner,
        make_policy: MakePolicy,
        *,
        emit: Listener = ignore,
    ) -> None:
        self._records, self._make_policy, self._emit = records, make_policy, emit
        self.planner = planner
        self.is_known = False  # whether the server has answered since the start
        self._plain = planner.policy
        self._read: ScalingRecord | None = None  # the last that was read, good or not
        self._good = ScalingRecord()
        self._problem = ""
        self._turn = 0

    def look(self) -> None:
        """Read the record, if it is time to. Does not raise if the server is down."""
        self._turn += 1
        if self.is_known and self._turn % EVERY:
            return
        try:
            record = self._records.read(self._read)
        except UnavailableError:
            return  # what is known holds; without anything, nothing is decided yet
        except QueuePoolError as error:
            self.is_known = True
            self._refuse(self._good.version, str(error)[:300])
            return
        self.is_known = True
        if record != self._read:
            self._take(record)

    def in_force(self, now_ms: int, planner: Planner) -> InForce:
        """Return what holds at a moment, by a server's clock. planner: with its pool's room."""
        rules = rules_at(now_ms, planner.limits, planner.overrides)
        return InForce(
            policy=planner.policy.name,
            version=planner.policy.version,
            rules=rules,
            budget=planner.budget(rules.budget)[0],
            record=self._good,
            problem=self._problem,
        )

    def _take(self, record: ScalingRecord) -> None:
        first, self._read = self._read is None, record
        if record.problem:
            self._refuse(record.version, record.problem)
            return
        try:
            overrides = parse(record.values)
            policy = self._policy(overrides)
        except ValueError as error:
            self._refuse(record.version, str(error)[:300])
            return
        self._good, self._problem = record, ""
        self.planner = replace(
            self.planner,
            policy=policy,
            overrides=overrides,
            values=record.values,
            record_version=record.version,
        )
        if not (first and record.version == 0):
            self._emit(ScalingChanged(record))

    def _policy(self, overrides: Overrides) -> Policy[Any, Any]:
        if overrides.policy is None and not overrides.settings:
            return self._plain
        return self._make_policy(overrides.policy, overrides.settings)

    def _refuse(self, version: int, problem: str) -> None:
        if problem != self._problem:
            self._emit(ScalingRefused(version, problem))
        self._problem = problem
