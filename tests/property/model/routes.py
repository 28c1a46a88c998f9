"""The route record as leaders change it, and calls of people who know a version of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from queuepool.verbs import Verb

_VERSION = {"enqueue": 5, "cancel": 1, "cancel_group": 2, "configure": 1, "configure_tenant": 1,
            "hold_task": 2}  # script -> which argument is the version of the route  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """The route record. homes: the place of each slot. closed: slots on their way, of one part."""

    version: int
    homes: Mapping[int, int]
    goal: Mapping[int, int] = field(default_factory=dict)
    back: Mapping[int, int] = field(default_factory=dict)
    stage: str = "ended"
    closed: frozenset[int] = frozenset()
    source: int = -1
    dest: int = -1

    @property
    def under_way(self) -> bool:
        """Return whether there is anything left to do."""
        return self.stage != "ended"

    def changed(self, **fields: Any) -> Record:
        """Return the next version."""
        return replace(self, version=self.version + 1, **fields)


def routed(verb: Verb[Any], version: int) -> Verb[Any]:
    """Return a call of someone who knows the route of this version."""
    at = _VERSION.get(verb.script)
    if at is None:
        return verb
    return Verb(verb.script, [*verb.args[:at], version, *verb.args[at + 1 :]], verb.parse)
