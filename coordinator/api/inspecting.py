"""What operators look for on the servers themselves: jobs, errors, groups, batches, schedules.

Each look is a chain of bounded calls, and may take only so long altogether. Nothing is kept between
the pages of a list: a token says from where the next one goes on.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, TypeVar

from coordinator.api.filters import asked_state, filter_of, places_of
from coordinator.api.wording import text_of
from queuepool.client import finding
from queuepool.client.effects import Steps
from queuepool.client.grouping import find_groups
from queuepool.client.pages import batches_page, jobs_page, read_offset
from queuepool.client.pool import QueuePool
from queuepool.errors import UnavailableError
from queuepool.models import JobStatus, ScheduleStatus
from queuepool.models.finding import Digest, ErrorCount, RunningJob
from queuepool.models.flows import BatchLine, BatchStatus, FlowStatus
from queuepool.models.groups import MOST_GROUPS, GroupLoad, GroupOrder
from queuepool.models.history import PastRun
from queuepool.models.schedules import check_schedule_name
from queuepool.routing.finding import known_id
from queuepool.routing.moves import read_move
from queuepool.routing.progress import Facts

T = TypeVar("T")
_LOOK_S = 8.0  # of the 10 s that a call has
_MOST_ERRORS = 10_000


def until(ends: float, steps: Steps[T]) -> Steps[T]:
    """Carry out steps until then, as of time.monotonic. Raises TimeoutError between two of them."""
    try:
        effect = next(steps)
        while monotonic() < ends:
            effect = steps.send((yield effect))
    except StopIteration as end:
        found: T = end.value
        return found
    steps.close()
    raise TimeoutError


class Inspection:
    """Looks for operators. Blocking; safe to share between threads."""

    def __init__(self, pool: QueuePool) -> None:
        self._pool = pool

    def _do(self, steps: Steps[T]) -> T:
        return self._pool.carry_out(until(monotonic() + _LOOK_S, steps))

    def groups(
        self, order: GroupOrder, token: str, size: int, partition: int | None, pool: str | None
    ) -> tuple[list[GroupLoad], str]:
        """Return a page of groups, and the token of the next one."""
        begin = read_offset(token, MOST_GROUPS)
        most = min(begin + size + 1, MOST_GROUPS)
        config = self._pool.config
        steps = find_groups(config, order=order, limit=most, partition=partition, pool=pool)
        return _page(self._do(steps), begin, size)

    def jobs(self, request: Any, size: int) -> tuple[list[JobStatus], str]:
        """Return a page of the jobs that a FindJobsRequest describes, and the next token."""
        state, newest = asked_state(request.state), not request.oldest_first
        steps = jobs_page(
            self._pool.config,
            filter_of(self._pool, request, state, newest=newest),
            token=request.page_token,
            size=size,
            **places_of(self._pool, request),
        )
        return self._do(steps)

    def count(self, request: Any) -> int:
        """Return how many jobs a CountJobsRequest describes."""
        where = filter_of(self._pool, request.filter, asked_state(request.state), newest=True)
        places = places_of(self._pool, request.filter)
        return self._do(finding.count(self._pool.config, where, **places))

    def running(self, partition: int | None, most: int) -> list[RunningJob]:
        """Return the jobs that run, those that have run longest first."""
        return self._do(finding.running(self._pool.config, partition=partition, most=most))

    def digest(self, partition: int | None) -> Digest:
        """Return the dead jobs in short."""
        config = self._pool.config
        return self._do(finding.digest(config, partition=partition, sample=finding.SAMPLE))

    def history(self, request: Any, most: int) -> list[PastRun]:
        """Return the latest executions of a job."""
        job_id, key, route = known_id(request.job_id), request.partition_key, None
        if key:
            route = self._pool.producer.route(text_of(key), request.tenant or None)
        return self._do(finding.history(self._pool.config, job_id, route=route, most=most))

    def errors(self, token: str, size: int, partition: int | None) -> tuple[list[ErrorCount], str]:
        """Return a page of errors, and the token of the next one."""
        begin = read_offset(token, _MOST_ERRORS)
        steps = finding.errors(self._pool.config, partition=partition, sample=finding.SAMPLE)
        return _page(self._do(steps), begin, size)

    def batches(self, token: str, size: int) -> tuple[list[BatchLine], str]:
        """Return a page of batches, and the token of the next one."""
        return self._do(batches_page(self._pool.config, token=token, size=size))

    def batch(self, name: str) -> tuple[BatchStatus, FlowStatus | None]:
        """Return a batch; and the flow that it is, or is a part of."""
        status = self._pool.batch(name).status()
        return status, self._pool.flow(status.name).status() if status.part else None

    def moves(self) -> Facts:
        """Return where the move of slots stands. Raises ConfigurationError: it is damaged."""
        self._pool.route.follow()
        view = self._pool.config.topology.view
        if view.record is None:
            raise UnavailableError("there is no route record yet; nothing was done: try again")
        return Facts(view.record, view, read_move(view.record))

    def schedules(self, name: str, token: str, size: int) -> tuple[list[ScheduleStatus], str]:
        """Return the schedule of a name, or a page of all and the token of the next one."""
        if name:
            found = self._pool.schedules.get(name)
            return ([] if found is None else [found]), ""
        if token:
            check_schedule_name(token)
        listed = sorted(self._pool.schedules.list(), key=lambda one: one.name)
        left = [one for one in listed if one.name > token]
        return left[:size], left[size - 1].name if len(left) > size else ""


def _page(found: list[T], begin: int, size: int) -> tuple[list[T], str]:
    end = begin + size
    return found[begin:end], str(end) if end < len(found) else ""
