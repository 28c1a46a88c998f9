"""A running handler's view of its job: the implementation of queuepool.JobContext."""

from __future__ import annotations

from collections.abc import Iterator

from consumer.core.jobs import ClaimedJob
from queuepool.errors.escaping import id_text
from queuepool.models.flows import BatchResult
from queuepool.models.places import partition_at
from queuepool.models.tenants import key_in, tenant_text
from queuepool.protocol.batches import MARK
from queuepool.tasks.batch_ref import ResultsOf, batch_of, results_of
from queuepool.tasks.context import progress_bytes
from queuepool.verbs.owner.verbs import Ownership

Progress = dict[bytes, bytes]


class RunContext:
    """One execution of one job. Reads are free; progress is sent with the next turn."""

    __slots__ = (
        *("_job", "_ownership", "_progress", "_results_of"),
        *("batch", "continues", "deadline", "task"),
    )

    def __init__(
        self,
        job: ClaimedJob,
        task: str,
        ownership: Ownership,
        deadline: float | None,
        progress: Progress,
        *,
        continues: str | None = None,
        results_of: ResultsOf | None = None,
    ) -> None:
        self._job, self.task, self._ownership = job, task, ownership
        self.deadline, self._progress = deadline, progress
        self.continues, self._results_of = continues, results_of
        self.batch = batch_of(job.id.decode()) if MARK in job.id else None

    @property
    def partition(self) -> int:
        """Return the partition that runs the job."""
        return partition_at(self._ownership.partition)

    @property
    def fencing_token(self) -> int:
        """Return the owner's epoch: a store that rejects lower tokens is safe from zombies."""
        return self._ownership.epoch

    @property
    def job_id(self) -> str:
        """Return the job's id, the same in every attempt."""
        return id_text(self._job.id)

    @property
    def attempt(self) -> int:
        """Return the number of this execution, from 1."""
        return self._job.attempt

    @property
    def group(self) -> bytes:
        """Return the task group; of a tenant's without the tenant."""
        return key_in(self._job.group)

    @property
    def tenant(self) -> str | None:
        """Return the tenant, if the job has one."""
        return tenant_text(self._job.group)

    @property
    def cancel_requested(self) -> bool:
        """Return whether cancellation was requested, or the partition was lost."""
        return self._job.cancelled

    def results(self, step: str | None = None) -> Iterator[BatchResult]:
        """Iterate over how the jobs ended that this one continues, by their numbers."""
        return results_of(self.continues, self._results_of, step)

    def progress(self, text: str) -> None:
        """Publish progress: at most 256 bytes of UTF-8, the latest wins."""
        self._progress[self._job.id] = progress_bytes(text)
