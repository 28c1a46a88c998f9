"""Follows the scaling record: reads it every few turns, and makes the planner that it asks for.

A record that cannot be read or understood changes nothing: the last good one holds, and the problem
is told once. If only its policy cannot be made, since a setting does not go with those of this
coordinator, the policy stays as it is, and all else holds: a mode or a limit is never lost by that.
Every coordinator reads it, so that whoever leads next knows it.
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
REFUSALS = 10  # in a row, by a server that never showed a record: then it will show none
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
        self.is_known = False  # whether the record is, or that it will not be
        self._refusals = 0
        self._plain = planner.policy
        self._read: ScalingRecord | None = None  # the last that was read, good or not
        self._good = ScalingRecord()
        self._problem = self._unread = self._told = ""
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
            self._refusals += 1
            self.is_known = self.is_known or self._refusals >= REFUSALS
            self._unread = str(error)[:300]
            self._tell(ScalingRefused(self._good.version, self._unread))
            return
        self.is_known, self._refusals, self._unread = True, 0, ""
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
            problem=self._unread or self._problem,
        )

    def _take(self, record: ScalingRecord) -> None:
        first, self._read = self._read is None, record
        overrides, self._problem = _understood(record)
        if overrides is None:
            self._tell(ScalingRefused(record.version, self._problem))
            return
        policy, self._problem = self._policy(overrides)
        self._good = record
        self.planner = replace(
            self.planner,
            policy=policy,
            overrides=overrides,
            values=record.values,
            record_version=record.version,
        )
        if not (first and record.version == 0):
            self._emit(ScalingChanged(record))
        self._tell(ScalingRefused(record.version, self._problem, f"policy {policy.name}"))

    def _policy(self, overrides: Overrides) -> tuple[Policy[Any, Any], str]:
        """Return the policy from now on, and why it is not the one that is asked for."""
        if overrides.policy is None and not overrides.settings:
            return self._plain, ""
        try:
            return self._make_policy(overrides.policy, overrides.settings), ""
        except ValueError as error:
            policy = self.planner.policy
            return policy, f"{str(error)[:300]}; policy {policy.name} stays as it is"

    def _tell(self, refused: ScalingRefused) -> None:
        """Tell a problem once. Without one, nothing was refused."""
        if refused.problem and refused.problem != self._told:
            self._emit(refused)
        self._told = refused.problem


def _understood(record: ScalingRecord) -> tuple[Overrides | None, str]:
    """Return what a record asks for, or why it cannot be understood."""
    if record.problem:
        return None, record.problem
    try:
        return parse(record.values), ""
    except ValueError as error:
        return None, str(error)[:300]
