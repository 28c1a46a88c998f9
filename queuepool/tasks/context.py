"""What a running job can see and do: the protocol that consumers and run_jobs implement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from queuepool.errors import InvalidInputError
from queuepool.models.flows import BatchResult
from queuepool.tasks.batch_ref import BatchRef

MAX_PROGRESS_BYTES = 256


def progress_bytes(text: object) -> bytes:
    """Return progress as it is stored. Raises InvalidInputError for anything but text."""
    if not isinstance(text, str):
        raise InvalidInputError(f"progress takes text, not {type(text).__name__}")
    return text.encode("utf-8", "replace")[:MAX_PROGRESS_BYTES]


class JobContext(Protocol):
    """What a handler can see and do about the job that it runs."""

    @property
    def job_id(self) -> str:
        """Return the job's id, the same in every attempt: use it to make effects idempotent."""

    @property
    def task(self) -> str:
        """Return the task's name."""

    @property
    def attempt(self) -> int:
        """Return the number of this execution, from 1."""

    @property
    def group(self) -> bytes:
        """Return the task group; of a tenant's without the tenant."""

    @property
    def tenant(self) -> str | None:
        """Return the tenant, if the job has one."""

    @property
    def partition(self) -> int:
        """Return the partition that runs the job."""

    @property
    def fencing_token(self) -> int:
        """Return the owner's epoch: a store that rejects lower tokens is safe from zombies."""

    @property
    def deadline(self) -> float | None:
        """Return the time.monotonic() of the timeout; None without one."""

    @property
    def cancel_requested(self) -> bool:
        """Return whether cancellation was requested; stop by raising JobCancelled."""

    @property
    def batch(self) -> BatchRef | None:
        """Return the batch that the job is in, to add to it; None if it is in none."""

    @property
    def continues(self) -> str | None:
        """Return the name of the batch that the job continues; None if it continues none."""

    def results(self, step: str | None = None) -> Iterator[BatchResult]:
        """Iterate over how the jobs ended that this one continues, by their numbers.

        In a flow: step by step, in the order of `after`, or of this step; each has its `step`.

        A few pages are in memory. It blocks while it reads one. Raises InvalidInputError if the job
        continues no batch; and in a child process, which has no connection: there use
        pool.batch(ctx.continues).results().
        """

    def progress(self, text: str) -> None:
        """Publish progress: at most 256 bytes, the latest wins, sent with the next turn."""
