"""Moves jobs in, page by page; each step may be interrupted, and the whole begun again.

    a page of the other queue: at most 100 jobs
      note  (there)  the groups of this page, and with which options
      hold  (here)   those groups: nothing of them starts
      enqueue        each job under an id that follows from it: a second time adds nothing
      remove (there) what is in; what someone else took meanwhile is cancelled here
      release        the groups; delete the note

A job that was enqueued and not removed is of a held group, so it has not run: the next attempt
finds its id, and removes it there. Without the hold it might have run, ended and been forgotten,
and would run again. By the note the next attempt knows which groups to release, at its end.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from queuepool.cli.imports.foreign import Entry, Reason, RefusedError
from queuepool.cli.imports.naming import Naming
from queuepool.cli.imports.source import Source, Walk, check_types
from queuepool.client.holding import UnknownGroupError
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, InvalidInputError
from queuepool.errors.escaping import key_bytes_of, key_text
from queuepool.models import JobState
from queuepool.routing.slots import key_bytes
from queuepool.tasks.job import Job

_NOTE = "queuepool:import:"
_FULL_S = 20.0  # how long to wait for room
_LOCK_S = 60
_DETAILS = 20  # tasks that are named for each reason
_GONE = (JobState.READY, JobState.DELAYED, JobState.CANCELLED, JobState.UNKNOWN)


@dataclass
class Report:
    """What was found, and its outcome. other: jobs there that are never moved, by state.

    taken: someone else took them there while they were moved; they were cancelled here.
    """

    found: int = 0
    movable: int = 0
    moved: int = 0
    already: int = 0
    delayed: int = 0
    taken: int = 0
    tasks: Counter[str] = field(default_factory=Counter)
    refused: Counter[Reason] = field(default_factory=Counter)
    details: dict[Reason, Counter[str]] = field(default_factory=dict)
    other: dict[str, int] = field(default_factory=dict)

    def refuse(self, error: RefusedError) -> None:
        """Count a job that stays where it is."""
        self.refused[error.reason] += 1
        seen = self.details.setdefault(error.reason, Counter())
        if error.detail and (error.detail in seen or len(seen) < _DETAILS):
            seen[error.detail] += 1


class Importing:
    """One run over one queue. form: the module of its library. now_ms: for delays."""

    def __init__(
        self, pool: QueuePool, source: Source, form: ModuleType, queue: str, naming: Naming
    ) -> None:
        self._pool, self._source, self._form = pool, source, form
        self._queue, self._naming = queue, naming
        self._note = f"{_NOTE}{form.KIND}:{queue}".encode()
        self._lock, self._token = self._note + b":lock", secrets.token_hex(8).encode()
        self._unfinished: list[str | bytes] = []  # groups that an earlier run left held
        self.report = Report()

    def run(self, *, move: bool, now_ms: Callable[[], int], advance: Callable[[int], None]) -> None:
        """Count what could be moved; with `move`, move it."""
        check_types(self._source, self._form.places(self._queue))
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
        self._unfinished = self._noted()
        for walk in self._form.walks(self._source, self._queue):
            for page in walk.pages():
                walk.left += self._page(walk, page, now_ms(), move=move)
                advance(len(page))
        if move and self._unfinished:
            self._release(self._unfinished)
            self._source.one("DEL", self._note)
        sizes = {
            said: self._source.size(place) for said, place in self._form.others(self._queue).items()
        }
        self.report.other = {said: size for said, size in sizes.items() if size}

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
            self._move(jobs)
        return len(found) - len(jobs)

    def _move(self, jobs: Sequence[tuple[Entry, Job[Any]]]) -> None:
        groups: list[Any] = list(dict.fromkeys(job.partition_key for _, job in jobs))
        self._keep_lock()
        self._write_note([*self._unfinished, *groups])
        for key in groups:
            self._pool.group(key).hold(create=True)
        results = self._pool.enqueue_many((job for _, job in jobs), wait_when_full_s=_FULL_S)
        self.report.already += results.duplicates
        self._keep_lock()
        self._remove(jobs)
        unfinished = set(map(key_bytes, self._unfinished))
        self._release([key for key in groups if key_bytes(key) not in unfinished])
        if self._unfinished:
            self._write_note(self._unfinished)
        else:
            self._source.one("DEL", self._note)

    def _keep_lock(self) -> None:
        # Two imports at once would each take the removals of the other for those of a worker.
        if self._source.one("GET", self._lock) != self._token:
            raise _busy(self._queue)
        self._source.one("EXPIRE", self._lock, _LOCK_S)

    def _remove(self, jobs: Sequence[tuple[Entry, Job[Any]]]) -> None:
        removed = self._source.do([_removal(entry) for entry, _ in jobs])
        rest: list[bytes] = []
        for (entry, job), count in zip(jobs, removed, strict=True):
            if count:
                self.report.moved += 1
                rest += entry.keys
                continue
            self.report.taken += 1
            state = self._pool.cancel(entry.job_id, partition_key=job.partition_key)
            if state not in _GONE:
                raise InvalidInputError(
                    f"job {entry.job_id} was taken from {self._queue} by a worker there, and is "
                    f"{state} here as well: stop the workers of the other queue before you import"
                )
        if rest:
            self._source.one("UNLINK", *rest)

    def _release(self, groups: Sequence[str | bytes]) -> None:
        for key in groups:
            with suppress(UnknownGroupError):  # it was noted, and never held
                self._pool.group(key).release()

    def _write_note(self, groups: Sequence[str | bytes]) -> None:
        keys = [key_text(key_bytes(key)) for key in groups]
        note = json.dumps({"options": self._options(), "groups": keys})
        self._source.one("SET", self._note, note)

    def _options(self) -> list[str]:
        naming, space = self._naming, self._pool.config.keyspace
        key = key_text(key_bytes(naming.key))
        tasks = json.dumps(sorted(naming.tasks.items())) if naming.key_argument else ""
        return [space.stage, space.queue, key, naming.key_argument or "", tasks]

    def _noted(self) -> list[str | bytes]:
        """Return the groups that an earlier run left held. Raises ConfigurationError."""
        stored = self._source.one("GET", self._note)
        if stored is None:
            return []
        try:
            note = json.loads(stored)
            options = note["options"]
            groups: list[str | bytes] = [key_bytes_of(key) for key in note["groups"]]
        except (ValueError, KeyError, TypeError):
            raise ConfigurationError(
                f"{self._source.name}: {self._note.decode()} is not a record of an import; inspect "
                f"and delete it"
            ) from None
        if options != self._options():
            raise ConfigurationError(
                f"an import of {self._queue} with other options was interrupted (stage, queue, "
                f"--key, --key-argument, --task: {options}): finish it with those options first, "
                f"so that "
                "no job runs twice. Nothing was done"
            )
        return groups


def _busy(queue: str) -> ConfigurationError:
    return ConfigurationError(
        f"another import of {queue} is under way, or was killed less than {_LOCK_S} s ago: try "
        "again then; nothing is moved twice"
    )


def _removal(entry: Entry) -> tuple[Any, ...]:
    if entry.is_list:
        return ("LREM", entry.place, -1, entry.member)
    return ("ZREM", entry.place, entry.member)
