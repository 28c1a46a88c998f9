"""The batch that a running job is in, for adding jobs to it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from queuepool.errors import InvalidInputError
from queuepool.models.flows import BatchResult
from queuepool.protocol.batches import membership_of

ResultsOf: TypeAlias = Callable[[str, str | None], Iterator[BatchResult]]


@dataclass(slots=True)
class BatchRef:
    """A batch as one of its jobs sees it: `pool.enqueue_many(..., into=ctx.batch)` adds to it.

    number: of that job. calls: how many times this attempt has added jobs: the same calls of
    another attempt add nothing twice, so they must come in the same order, with as many jobs.
    """

    name: str
    number: int
    calls: int = field(default=0, repr=False)

    def next_call(self) -> str:
        """Return the name of the next call of this attempt."""
        self.calls += 1
        return f"{self.number}:{self.calls}"


def batch_of(job_id: str) -> BatchRef | None:
    """Return the batch that a job is in, by its id; None if it is in none."""
    job = membership_of(job_id)
    return None if job is None else BatchRef(job.batch, job.number)


def results_of(
    continues: str | None, read: ResultsOf | None, step: str | None
) -> Iterator[BatchResult]:
    """Read how the jobs ended that a job continues. Raises InvalidInputError if that is impossible.

    continues: their batch. read: reads a batch, if the process of the job has a connection. step:
    of a flow, None for all.
    """
    if continues is None:
        raise InvalidInputError("ctx.results(): this job continues no batch, so it has no results")
    if read is None:
        raise InvalidInputError(
            "ctx.results(): a child process has no connection to the servers; use "
            "pool.batch(ctx.continues).results() with a pool of your own"
        )
    return read(continues, step)
