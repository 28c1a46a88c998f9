"""What jobs ask for besides being run: unique keys, and a time by which to start. Pure."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

ENDS, STARTS, STARTED = b"e", b"s", b"S"  # until when a job holds its key; the last: it did start


@dataclass(slots=True)
class Wishes:
    """Which job holds a unique key, which keys jobs have, and when jobs expire."""

    holders: dict[bytes, bytes] = field(default_factory=dict)  # u
    keys: dict[bytes, bytes] = field(default_factory=dict)  # uk
    expire_ms: dict[bytes, int] = field(default_factory=dict)  # ex

    def take(self, said: bytes, job_id: bytes) -> None:
        """Give a key, behind until when it is held, to a job."""
        self.holders[said[1:]], self.keys[job_id] = job_id, said

    def take_again(self, job_id: bytes) -> None:
        """Give a job that was dead its key again."""
        if said := self.keys.get(job_id):
            self.take(STARTS + said[1:] if said[:1] == STARTED else said, job_id)

    def let_go(self, job_id: bytes, *, died: bool = False) -> None:
        """Forget what a job asked for that ended, or died; a dead one knows its key still."""
        self.expire_ms.pop(job_id, None)
        self._free(job_id)
        if not died:
            self.keys.pop(job_id, None)

    def note_start(self, job_id: bytes) -> None:
        """Note that a job starts: it expires no more, and may free its key."""
        self.expire_ms.pop(job_id, None)
        said = self.keys.get(job_id)
        if said is not None and said[:1] == STARTS:
            self._free(job_id)
            self.keys[job_id] = STARTED + said[1:]

    def _free(self, job_id: bytes) -> None:
        key = self.keys.get(job_id, b"")[1:]
        if self.holders.get(key) == job_id:
            del self.holders[key]

    def holder_of(self, key: bytes, jobs: Container[bytes], dead: Container[bytes]) -> bytes | None:
        """Return the job that holds a key, if it is there, has the key and is not dead."""
        job_id = self.holders.get(key)
        if job_id is None or self.keys.get(job_id) not in (ENDS + key, STARTS + key):
            return None
        return job_id if job_id in jobs and job_id not in dead else None
