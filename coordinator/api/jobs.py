"""What operators do to jobs, each with a line in the log. Blocking.

A replay or a discard takes a few seconds at most, and says whether there are more: who called calls
again, so that no call outlives its caller by much.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import Any

from coordinator.api.callers import cleaned
from coordinator.api.filters import filter_of, filter_text, places_of
from coordinator.api.inspecting import until
from coordinator.api.wording import plain, text_of
from queuepool.client import changing
from queuepool.client.pool import QueuePool
from queuepool.errors import InvalidInputError
from queuepool.models import JobState
from queuepool.models.finding import Changed

_log = logging.getLogger("coordinator.operators")
CHANGE_S = 4.0  # of the 10 s that a call has: others wait for a thread meanwhile


class JobActs:
    """Acts of operators. Safe to share between threads."""

    def __init__(self, pool: QueuePool) -> None:
        self._pool = pool

    def replay(self, request: Any, *, ends: float, actor: str) -> Changed:
        """Replay what a ReplayJobsRequest describes. ends: by when, as of time.monotonic."""
        return self._change("replayed", changing.replay, request, ends, actor)

    def discard(self, request: Any, *, ends: float, actor: str) -> Changed:
        """Discard what a DiscardJobsRequest describes. ends: by when, as of time.monotonic."""
        return self._change("discarded", changing.discard, request, ends, actor)

    def _change(self, done: str, verb: Any, request: Any, ends: float, actor: str) -> Changed:
        if not request.HasField("filter"):
            raise InvalidInputError("filter: name the jobs; an empty one means all dead jobs")
        wanted = request.filter
        steps = changing.change(
            self._pool.config,
            filter_of(self._pool, wanted, JobState.DEAD, newest=request.newest_first),
            verb,
            **places_of(self._pool, wanted),
            most=request.most if request.HasField("most") else None,
            rate=request.rate if request.HasField("rate") else None,
            dry_run=request.dry_run,
            has_time=lambda seconds: monotonic() + seconds < ends,
        )
        if request.dry_run:
            return self._pool.carry_out(until(ends, steps))
        changed = self._pool.carry_out(steps)
        _tell(f"{done} dead jobs", filter_text(wanted), changed.changed, request.reason, actor)
        return changed

    def run(self, request: Any, *, actor: str) -> JobState:
        """Run the job of a RunJobRequest; returns where it was. Raises UnchangeableJobError."""
        was = self._pool.inspect.run(request.job_id, **_place(request))
        changed = was in (JobState.DELAYED, JobState.DEAD)
        _tell("ran job", request.job_id, int(changed), request.reason, actor)
        return was

    def edit(self, request: Any, payload: Any, *, actor: str) -> JobState:
        """Edit the job of an EditJobRequest; returns where it is. Raises UnchangeableJobError."""
        state = self._pool.inspect.edit(request.job_id, payload, **_place(request))
        _tell("edited job", request.job_id, 1, request.reason, actor)
        return state


def _place(request: Any) -> dict[str, Any]:
    if not request.partition_key:
        return {}
    return {
        "partition_key": text_of(request.partition_key),
        "tenant": request.tenant or None,
    }


def _tell(done: str, what: str, changed: int, reason: str, actor: str) -> None:
    _log.info(
        "%s %s", done, cleaned(what),
        extra={"changed": changed, "reason": plain(reason), "actor": actor},
    )  # fmt: skip
