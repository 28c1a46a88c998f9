"""The scaling record of a queue: read it, and change it without overwriting anyone unseen."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.models import ScalingRecord
from queuepool.servers import Port
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead

T = TypeVar("T")
_PAUSES_S = (0.1, 0.3)  # between attempts; a repeated change has the same nonce

# Returns the new values of the old ones and the changes. Raises InvalidInputError.
Merge = Callable[[Mapping[str, str], Mapping[str, str]], Mapping[str, str]]


class ChangedMeanwhileError(QueuePoolError):
    """Someone changed the scaling record since it was read; nothing was set."""

    def __init__(self, wanted: int, there: int) -> None:
        super().__init__(
            f"the scaling record has been changed: it has version {there}, not {wanted}; nothing "
            f"was set. Check it (`queuepool policy show`), then repeat the call"
        )


class UnreadableRecordError(QueuePoolError):
    """What is stored is no scaling record; nothing was set."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the stored scaling record is damaged: {problem}; nothing was set. `queuepool policy "
            "set --replace NAME=VALUE ...` replaces it"
        )


class ScalingRecords:
    """Reads and changes the record. merge: checks values, for which this layer has no rules."""

    def __init__(self, server: Port, key: bytes) -> None:
        self._server, self._key = server, key

    def read(self, known: ScalingRecord | None = None) -> ScalingRecord:
        """Return the record, `known` if it is still that one."""
        return self._run(lead.read_policy(known))

    def change(
        self,
        changes: Mapping[str, str],
        merge: Merge,
        *,
        by: str,
        reason: str = "",
        version: int | None = None,
        replace: bool = False,
    ) -> tuple[ScalingRecord, ScalingRecord]:
        """Return the record before and after; the same twice if that changes nothing.

        version: that the record must have, None for any. replace: whether all other values go.
        Raises ChangedMeanwhileError, UnreadableRecordError, InvalidInputError.
        """
        before = self._retried(lead.read_policy())
        if version is not None and version != before.version:
            raise ChangedMeanwhileError(version, before.version)
        if before.problem and not replace:
            raise UnreadableRecordError(before.problem)
        values = merge({} if replace else before.values, changes)
        if values == before.values and not before.problem:
            return before, before
        nonce = secrets.token_hex(8)
        verb = lead.set_policy(before.version, nonce, values, by=by, reason=reason)
        done, there = self._retried(verb)
        if not done:
            raise ChangedMeanwhileError(before.version, there)
        return before, self._retried(lead.read_policy())

    def _retried(self, verb: Verb[T]) -> T:
        for pause_s in _PAUSES_S:
            try:
                return self._run(verb)
            except UnavailableError:
                threading.Event().wait(pause_s)
        return self._run(verb)

    def _run(self, verb: Verb[T]) -> T:
        return verb.read(self._server.run(self._key, [verb])[0])
