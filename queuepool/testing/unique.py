"""Unique keys: which job holds one, and which keys jobs have. Pure."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field


@dataclass(slots=True)
class UniqueKeys:
    """The keys that jobs hold, and those that they have; a dead one holds none."""

    holders: dict[bytes, bytes] = field(default_factory=dict)  # u
    keys: dict[bytes, bytes] = field(default_factory=dict)  # uk

    def take(self, key: bytes, job_id: bytes) -> None:
        """Give a key to a job."""
        self.holders[key], self.keys[job_id] = job_id, key

    def free(self, job_id: bytes, *, died: bool = False) -> None:
        """Let others have the key of a job that ended, or died; a dead one knows it still."""
        key = self.keys.get(job_id)
        if key is not None and self.holders.get(key) == job_id:
            del self.holders[key]
        if not died:
            self.keys.pop(job_id, None)

    def holder_of(self, key: bytes, jobs: Container[bytes], dead: Container[bytes]) -> bytes | None:
        """Return the job that holds a key, if it is there, has the key and is not dead."""
        job_id = self.holders.get(key)
        if job_id is None or self.keys.get(job_id) != key:
            return None
        return job_id if job_id in jobs and job_id not in dead else None
