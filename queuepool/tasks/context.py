"""What a running job can see and do: the protocol that consumers and run_jobs implement."""

from __future__ import annotations

from typing import Protocol


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

    def progress(self, text: str) -> None:
        """Publish progress: at most 256 bytes, the latest wins, sent with the next turn."""
