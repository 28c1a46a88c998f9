"""Which task of ours a foreign job becomes, in which group, with which arguments and tier. Pure.

--task shop.tasks.add=add(x,y)     a name, and names for arguments that have none there
--tier 1-4=high --tier 5-9=low     priorities; by default 0 is default, all others are low
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from queuepool.cli.imports.foreign import Entry, Foreign, Reason, RefusedError
from queuepool.client import calls
from queuepool.client.producer import Producer
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import Tier
from queuepool.tasks.job import Job

_TASK = re.compile(r"([^=]{1,512})=([^=()\s]{1,200})(?:\(([^()]*)\))?")
_TIER = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?=([a-z]{1,10})")
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_LONGEST_S = 366 * 86400
_LONGEST_TIMEOUT_S = 7 * 86400
_NAMED = 40  # characters of a task's name before the reason


@dataclass(frozen=True, slots=True)
class Naming:
    """What the operator said about jobs. producer: knows what a job can have."""

    producer: Producer
    tasks: dict[str, tuple[str, tuple[str, ...]]]
    tiers: tuple[tuple[int, int, Tier], ...]
    key: str | bytes
    key_argument: str | None = None
    same_names: bool = False

    def job_of(self, entry: Entry, now_ms: int) -> Job[Any]:
        """Return the job to enqueue. Raises RefusedError."""
        if isinstance(entry.found, RefusedError):
            raise entry.found
        found = entry.found
        task, payload = self._call(found)
        delay_s = max(0.0, ((found.due_ms or 0) - now_ms) / 1000)
        expires_s = None
        if found.expires_ms is not None:
            expires_s = (found.expires_ms - now_ms) / 1000
            if expires_s <= 0:
                raise RefusedError(Reason.EXPIRED)
        if delay_s > _LONGEST_S:
            raise RefusedError(Reason.INVALID, f"{found.task}: due after more than 366 days")
        timeout_s = found.timeout_s
        job = Job(
            payload,
            task=task,
            partition_key=self._key_of(payload),
            job_id=entry.job_id,
            tier=self._tier_of(found.priority),
            delay_s=delay_s if delay_s >= 0.001 else None,
            expires_s=None if expires_s is None else max(0.001, min(expires_s, _LONGEST_S)),
            max_attempts=found.max_attempts and min(found.max_attempts, 2**31 - 1),
            timeout_s=None if timeout_s is None else min(timeout_s, _LONGEST_TIMEOUT_S),
        )
        self._check(job, found.task)
        return job

    def _check(self, job: Job[Any], name: str) -> None:
        """Raise RefusedError for a job that cannot be enqueued, since a page is all or nothing."""
        try:
            calls.one(self.producer, job, None)
        except InvalidInputError as error:
            short = name if len(name) <= _NAMED else name[: _NAMED - 1] + "…"
            raise RefusedError(Reason.INVALID, f"{short}: {error}") from None

    def _call(self, found: Foreign) -> tuple[str, dict[str, Any]]:
        known = self.tasks.get(found.task)
        if known is None and not self.same_names:
            raise RefusedError(Reason.UNNAMED, found.task)
        task, names = known or (found.task, ())
        args = found.args
        if len(args) > len(names):
            raise RefusedError(Reason.POSITIONAL, found.task)
        named = dict(zip(names, args, strict=False))
        if twice := named.keys() & found.kwargs.keys():
            said = ", ".join(sorted(twice))
            raise RefusedError(Reason.INVALID, f"{found.task}: {said} is given twice")
        return task, {**named, **found.kwargs}

    def _key_of(self, payload: dict[str, Any]) -> str | bytes:
        value = None if self.key_argument is None else payload.get(self.key_argument)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
            return self.key
        text = str(value)
        return text if len(text) <= 1024 else self.key

    def _tier_of(self, priority: int) -> Tier:
        for first, last, tier in self.tiers:
            if first <= priority <= last:
                return tier
        return Tier.DEFAULT if priority == 0 else Tier.LOW


def read_tasks(typed: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return foreign name -> task, names of arguments. Raises InvalidInputError."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for text in typed:
        match = _TASK.fullmatch(text)
        names = tuple(filter(None, re.split(r"[\s,]+", match[3] or ""))) if match else ()
        if match is None or not all(_ARGUMENT.fullmatch(name) for name in names):
            raise InvalidInputError(
                f"--task {shown(text)}: write THEIRS=OURS, or THEIRS=OURS(first,second) to name "
                "arguments that have no names there"
            )
        if len(set(names)) < len(names) or match[1] in found:
            raise InvalidInputError(f"--task {shown(text)}: a name is given twice")
        found[match[1]] = (match[2], names)
    return found


def read_tiers(typed: Sequence[str]) -> tuple[tuple[int, int, Tier], ...]:
    """Return ranges of priorities, each with its tier. Raises InvalidInputError."""
    known, found = {tier.name.lower(): tier for tier in Tier}, []
    for text in typed:
        match = _TIER.fullmatch(text)
        if match is None or match[3] not in known or int(match[1]) > int(match[2] or match[1]):
            raise InvalidInputError(
                f"--tier {shown(text)}: write PRIORITY=TIER or FIRST-LAST=TIER; tiers are "
                + ", ".join(known)
            )
        found.append((int(match[1]), int(match[2] or match[1]), known[match[3]]))
    return tuple(found)
