"""What people look for among jobs, and what they find: frozen data. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import blake2b

from queuepool.models.jobs import ErrorRecord, JobId, JobState, JobStatus, in_words

_VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|0x[0-9a-fA-F]+|\b[0-9a-fA-F-]{8,}\b|[0-9]+")
_OF_FINGERPRINT = re.compile(r"(.+)-[0-9a-f]{6}")
_PIECE = re.compile(r"[a-z0-9_]+")
_MOST_LISTED = 10


def fingerprint(task: str, error: ErrorRecord) -> str:
    """Return what errors of one cause have in common, such as `ValueError-3fa2c1`.

    They are of the same task, reason and type, and their messages differ only in numbers, in hex
    and in what is quoted.
    """
    message = _VARIABLE.sub("#", error.message)[:200]
    text = f"{task}\0{error.reason}\0{error.type}\0{message}"
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=3).hexdigest()
    name = re.sub(r"[^A-Za-z0-9_]+", ".", error.type or error.reason)[:40]
    return f"{name}-{digest}"


def is_error(wanted: str, task: str, error: ErrorRecord) -> bool:
    """Return whether an error has this text in its reason, type or message, or this fingerprint."""
    text = f"{error.reason}\n{error.type}: {error.message}".lower()
    return wanted.lower() in text or wanted == fingerprint(task, error)


def piece_of(wanted: str) -> str:
    """Return what every stored error that `is_error` has in it, for servers to look for."""
    found = _OF_FINGERPRINT.fullmatch(wanted)
    pieces = _PIECE.findall((found[1] if found else wanted).lower())
    return max(pieces, key=len, default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs are looked for; None: whichever.

    group: as stored. error: a text in the reason, type or message, or a fingerprint; with
    by_fingerprint a fingerprint only, so that nobody can guess what a text says. since_ms and
    until_ms: when a dead job died, a delayed one is due, a running one started, any other was
    enqueued. newest: dead and delayed jobs come with the latest first.
    """

    state: JobState | None = None
    task: str | None = None
    group: bytes | None = None
    tenant: str | None = None
    error: str | None = None
    by_fingerprint: bool = False
    since_ms: int | None = None
    until_ms: int | None = None
    newest: bool = True

    @property
    def is_exact(self) -> bool:
        """Return whether servers can tell by themselves which jobs match."""
        return self.tenant is None and self.error is None

    def matches(self, job: JobStatus) -> bool:
        """Return whether a job matches as far as servers cannot tell."""
        if self.tenant is not None and job.tenant != self.tenant:
            return False
        if self.error is None:
            return True
        if job.error is None:
            return False
        task = job.task or ""
        if self.by_fingerprint:
            return fingerprint(task, job.error) == self.error
        return is_error(self.error, task, job.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCount:
    """Dead and retrying jobs with the same error. Times are None while none of them is dead.

    example: the id of one of them. is_exact: whether all jobs were looked at, or a part of them,
    evenly spread over time, from which the numbers follow.
    """

    fingerprint: str
    task: str
    reason: str
    type: str
    message: str
    dead: int
    retrying: int
    first_ms: int | None
    last_ms: int | None
    example: JobId
    is_exact: bool = True

    @property
    def jobs(self) -> int:
        """Return how many jobs have it."""
        return self.dead + self.retrying

    def plus(self, other: ErrorCount) -> ErrorCount:
        """Return both together; the example is that of the later one."""
        times = [t for t in (self.first_ms, other.first_ms) if t is not None]
        later = max((self, other), key=lambda one: one.last_ms or 0)
        return ErrorCount(
            fingerprint=self.fingerprint,
            task=self.task,
            reason=self.reason,
            type=self.type,
            message=later.message,
            dead=self.dead + other.dead,
            retrying=self.retrying + other.retrying,
            first_ms=min(times, default=None),
            last_ms=later.last_ms,
            example=later.example,
            is_exact=self.is_exact and other.is_exact,
        )

    def __repr__(self) -> str:
        return in_words(self, [f.name for f in fields(self)])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A running job, and for how long it has run by the server's clock.

    usual_s: within which 99 of 100 jobs of its task ended lately, if the history knows 20 of them.
    slow: it has run for more than three times that, and at least a second.
    """

    job: JobStatus
    age_s: float
    usual_s: float | None = None
    slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What a replay or a discard by filter did, or would do in a dry run.

    matched: jobs that matched. changed: of these, replayed or discarded. kept_out: some of those
    that stay dead, as other jobs hold their unique keys. until_ms: those that died later were left
    out; None if that is unknown. more: it ended before all were looked at; the same filter with
    this until_ms goes on with the others.
    """

    matched: int
    changed: int
    kept_out: tuple[JobId, ...] = ()
    until_ms: int | None = None
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The dead jobs in short: how many, of which tasks and reasons, the ten commonest errors.

    is_exact: whether each was looked at; if not, the parts follow from a part of them, and only the
    total is exact.
    """

    dead: int
    oldest_ms: int | None
    newest_ms: int | None
    tasks: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...]
    errors: tuple[ErrorCount, ...]
    is_exact: bool


def digest_of(dead: int, counts: Iterable[ErrorCount]) -> Digest:
    """Return the digest of the dead, given their number and their errors."""
    of_dead = [one for one in counts if one.dead]
    tasks, reasons = Counter[str](), Counter[str]()
    for one in of_dead:
        tasks[one.task] += one.dead
        reasons[one.reason] += one.dead
    return Digest(
        dead=dead,
        oldest_ms=min((one.first_ms for one in of_dead if one.first_ms), default=None),
        newest_ms=max((one.last_ms for one in of_dead if one.last_ms), default=None),
        tasks=tuple(tasks.most_common(_MOST_LISTED)),
        reasons=tuple(reasons.most_common(_MOST_LISTED)),
        errors=tuple(sorted(of_dead, key=lambda one: -one.dead)[:_MOST_LISTED]),
        is_exact=all(one.is_exact for one in of_dead),
    )
