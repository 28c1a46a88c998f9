"""Moves jobs in, page by page; each step may be interrupted, and the whole begun again.

    a page of the other queue: at most 100 jobs
      note    (there)  the page: its jobs, their groups, and with which options
      hold    (here)   those groups: nothing of them starts
      enqueue (here)   each job under an id that follows from it: a second time adds nothing
      remove  (there)  what is in, striking each from the note in the same step; what someone else
                       took meanwhile is cancelled here
      release (here)   the groups; delete the note

A noted job is here, there, or in both places, and while it may be in both its group is held. An
import that finds a note settles it before anything else, from "remove" on:

    here     there    struck
    waits    yes               remove it there
    waits    no       no       someone took it: cancel it here
    waits    no       yes      it was moved
    is not   -                 leave it: if it is there, it is read and moved as any other

Only what is here is removed there. A job that someone took and gave back is there again, while here
its id is that of a cancelled job: it gets a new id.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

from queuepool.cli.imports.foreign import Entry, RefusedError
from queuepool.cli.imports.naming import Naming
from queuepool.cli.imports.note import Note, Noted, Page
from queuepool.cli.imports.report import Report
from queuepool.cli.imports.source import Source, Walk, check_types
from queuepool.client.holding import UnknownGroupError
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, InvalidInputError
from queuepool.errors.escaping import key_text
from queuepool.models import EnqueueStatus, JobState
from queuepool.protocol.codec import MAX_ID_BYTES
from queuepool.routing.slots import key_bytes
from queuepool.tasks.job import Job

_NOTE = "queuepool:import:"
_FULL_S = 20.0  # how long to wait for room
_LOCK_S = 60
_GONE = (JobState.READY, JobState.DELAYED, JobState.CANCELLED, JobState.UNKNOWN)


class Importing:
    """One run over one queue. form: the module of its library. now_ms: for delays."""

    def __init__(
        self, pool: QueuePool, source: Source, form: ModuleType, queue: str, naming: Naming
    ) -> None:
        self._pool, self._source, self._form = pool, source, form
        self._queue, self._naming = queue, naming
        self._note = Note(source, f"{_NOTE}{form.KIND}:{queue}".encode())
        self._lock, self._token = self._note.key + b":lock", secrets.token_hex(8).encode()
        self.report = Report()

    def run(self, *, move: bool, now_ms: Callable[[], int], advance: Callable[[int], None]) -> None:
        """Count what could be moved; with `move`, move it."""
        check_types(self._source, {**self._form.places(self._queue), self._note.key: "hash"})
        if move and not self._source.one("SET", self._lock, self._token, "NX", "EX", _LOCK_S):
            raise _busy(self._queue)
        try:
            self._run(now_ms, advance, move=move)
        finally:
            if move and self._source.one("GET", self._lock) == self._token:
                self._source.one("DEL", self._lock)

    def _run(
        self, now_ms: Callable[[], int], advance: Callable[[int], None], *, move: bool
    ) -> None:
        interrupted = self._note.read()
        if interrupted:
            self._check_options(interrupted[0].options)
            if move:
                self._finish(*interrupted)
        for walk in self._form.walks(self._source, self._queue):
            for page in walk.pages():
                walk.left += self._page(walk, page, now_ms(), move=move)
                advance(len(page))
        sizes = {
            said: self._source.size(place) for said, place in self._form.others(self._queue).items()
        }
        self.report.other = {said: size for said, size in sizes.items() if size}
        if not self.report.found:
            self.report.queues = self._source.names(self._form.KNOWN)

    def _page(self, walk: Walk, page: list[tuple[bytes, int]], now_ms: int, *, move: bool) -> int:
        """Return how many entries of the page stay where they are."""
        found = self._form.entries(self._source, self._queue, walk, page)
        self.report.found += len(found)
        jobs: list[tuple[Entry, Job[Any]]] = []
        for entry in found:
            try:
                job = self._naming.job_of(entry, now_ms)
            except RefusedError as error:
                self.report.refuse(error)
                continue
            jobs.append((entry, job))
            self.report.tasks[str(job.task)] += 1
            self.report.delayed += job.delay_s is not None
        self.report.movable += len(jobs)
        if not move:
            return len(found)
        if jobs:
            self._move(walk, jobs)
        return len(found) - len(jobs)

    def _move(self, walk: Walk, jobs: Sequence[tuple[Entry, Job[Any]]]) -> None:
        wanted = {entry.job_id: job for entry, job in jobs}
        noted = {
            entry.job_id: Noted.of(entry, str(job.task), key_bytes(job.partition_key or ""))
            for entry, job in jobs
        }
        groups = list(dict.fromkeys(job.group for job in noted.values()))
        page = Page.of(self._options(), groups, walk)
        self._keep_lock()
        self._note.write(page, noted)
        for key in groups:
            self._pool.group(key).hold(create=True)
        try:
            noted = self._enqueue(page, wanted, noted)
        except InvalidInputError:
            # The next import would fail as well, so nothing may depend on it.
            self._keep_lock()
            if interrupted := self._note.read():
                self._finish(*interrupted)
            raise
        self._keep_lock()
        self._remove(page, noted)
        self._release(page)

    def _enqueue(
        self, page: Page, jobs: Mapping[str, Job[Any]], noted: Mapping[str, Noted]
    ) -> dict[str, Noted]:
        """Return what is here, by its id, which may be a new one."""
        results = self._pool.enqueue_many(jobs.values(), wait_when_full_s=_FULL_S)
        here: dict[str, Noted] = {}
        again: dict[str, Job[Any]] = {}
        for result, (job_id, job) in zip(results, jobs.items(), strict=True):
            if result.status is not EnqueueStatus.DUPLICATE:
                here[job_id] = noted[job_id]
            elif self._is_here(job_id, noted[job_id]):
                here[job_id] = noted[job_id]
                self.report.already += 1
            else:
                new = f"{job_id[: MAX_ID_BYTES - 9]}:{secrets.token_hex(4)}"
                here[new], again[new] = noted[job_id], replace(job, job_id=new)
        if again:
            self._note.write(page, {job_id: here[job_id] for job_id in again})
            self._pool.enqueue_many(again.values(), wait_when_full_s=_FULL_S)
        return here

    def _is_here(self, job_id: str, noted: Noted) -> bool:
        state = self._pool.status(job_id, partition_key=noted.group).state
        return state not in (JobState.CANCELLED, JobState.UNKNOWN)

    def _finish(self, page: Page, noted: Mapping[str, Noted]) -> None:
        """Settle a page whose import was interrupted."""
        here = {job_id: job for job_id, job in noted.items() if self._is_here(job_id, job)}
        self.report.found += len(here)
        self.report.movable += len(here)
        self.report.already += len(here)
        self.report.tasks.update(job.task for job in here.values())
        self._remove(page, here)
        self._release(page)

    def _keep_lock(self) -> None:
        # Two imports at once would each take the removals of the other for those of a worker.
        if self._source.one("GET", self._lock) != self._token:
            raise _busy(self._queue)
        self._source.one("EXPIRE", self._lock, _LOCK_S)

    def _remove(self, page: Page, here: Mapping[str, Noted]) -> None:
        counts = self._note.remove(page, list(here))
        for (job_id, noted), count in zip(here.items(), counts, strict=True):
            self.report.moved += count
            if not count:
                self._cancel(job_id, noted)

    def _cancel(self, job_id: str, noted: Noted) -> None:
        """Let a job that someone else took not run here as well."""
        self.report.taken += 1
        state = self._pool.cancel(job_id, partition_key=noted.group)
        self._note.strike(job_id)
        if state not in _GONE:
            raise InvalidInputError(
                f"job {job_id} was taken from {self._queue} by a worker there, and is {state} here "
                "as well: stop the workers of the other queue before you import"
            )

    def _release(self, page: Page) -> None:
        for key in page.groups:
            with suppress(UnknownGroupError):  # it was noted, and never held
                self._pool.group(key).release()
        self._note.delete()

    def _options(self) -> list[str]:
        naming, space = self._naming, self._pool.config.keyspace
        key = key_text(key_bytes(naming.key))
        tasks = json.dumps(sorted(naming.tasks.items())) if naming.key_argument else ""
        return [space.stage, space.queue, key, naming.key_argument or "", tasks]

    def _check_options(self, options: list[str]) -> None:
        if options != self._options():
            raise ConfigurationError(
                f"an import of {self._queue} with other options was interrupted (stage, queue, "
                f"--key, --key-argument, --task: {options}): finish it with those options first, "
                "so that no job runs twice. Nothing was done"
            )


def _busy(queue: str) -> ConfigurationError:
    return ConfigurationError(
        f"another import of {queue} is under way, or was killed less than {_LOCK_S} s ago: try "
        "again then; nothing is moved twice"
    )
