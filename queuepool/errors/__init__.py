"""Every error the library raises, grouped by what the caller does next.

QueuePoolError
├── ConfigurationError      fix it and restart
│   ├── SealedError             the same: the queue has partitions now
│   └── UnconfirmableError      the same; the jobs are stored, without the requested durability
├── InvalidInputError       fix the call: nothing was written
├── UnavailableError        retry with backoff, with the same job ids
│   ├── QueueFullError      the same, once workers have made room
│   └── NotConfirmedError   the same: stored, but too few replicas or no fsync in time
├── FencedError             stop: a newer owner has taken over
└── JobError                raised by, or on behalf of, a running handler
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from queuepool.errors.base import InvalidInputError, QueuePoolError
from queuepool.errors.escaping import shown, visible
from queuepool.errors.jobs import (
    JobCancelled,
    JobError,
    JobExpired,
    JobTimeoutError,
    PermanentError,
    RateLimited,
    RetryLater,
)

__all__ = [
    "BadPayloadError",
    "ConfigurationError",
    "FencedError",
    "InvalidInputError",
    "JobCancelled",
    "JobError",
    "JobExpired",
    "JobTimeoutError",
    "LocalError",
    "MovedError",
    "NotConfirmedError",
    "PayloadTooLargeError",
    "PermanentError",
    "QueueFullError",
    "QueuePoolError",
    "RateLimited",
    "RetryLater",
    "ScriptError",
    "SealedError",
    "UnavailableError",
    "UnconfirmableError",
    "UndecodableError",
    "UnknownTaskError",
    "WaitTimeoutError",
]


class ConfigurationError(QueuePoolError):
    """A setting or a server cannot work; the message names the variable and the remedy.

    problems: all that were found, one line each.
    """

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__(*problems)

    def __str__(self) -> str:
        return "\n".join(visible(str(problem)) for problem in self.problems)


class SealedError(ConfigurationError):
    """The queue was moved to partitions, and this process still has QUEUEPOOL_PARTITIONED=false."""


class UnconfirmableError(ConfigurationError):
    """A server cannot confirm what `durability` requires; the message names the remedy.

    The jobs are stored on the primary nevertheless. results: as in UnavailableError; enqueue the
    `unknown` ones again with the same ids once it is fixed.
    """

    results: Any = None


class PayloadTooLargeError(InvalidInputError):
    """A payload is larger than the limit; it was refused before any I/O."""

    def __init__(self, *, size: int, limit: int) -> None:
        self.size, self.limit = size, limit
        super().__init__(
            f"the job takes {size:,} bytes, over the limit of {limit:,}; nothing was enqueued. "
            "Store the data elsewhere and enqueue a reference, or raise "
            "QUEUEPOOL_MAX_PAYLOAD_BYTES for producers and consumers."
        )


class UnknownTaskError(InvalidInputError):
    """No function is registered under this task name in this process."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        listed = ", ".join(sorted(known)) or "none"
        super().__init__(
            f"no task named {shown(name)} is registered here (known: {listed}). "
            "Import the module that defines it: pass --app MODULE to the consumer."
        )


class UnavailableError(QueuePoolError):
    """A server did not answer in time. A write may or may not have happened.

    Calling again with the same job ids is always safe: an id is accepted once. results: of an
    enqueue call, one per job consumed from the iterable, with its id; None for other calls.
    UNCERTAIN: what its text says to a caller whose call may have been executed. REJECTED: what it
    says of a server that answers, but not to this user and password.
    """

    UNCERTAIN: ClassVar[str] = (
        "The call may or may not have been executed; repeating it with the same ids is safe."
    )
    REJECTED: ClassVar[str] = "rejects the password"
    results: Any = None

    @property
    def cause(self) -> str:
        """Return its text without what it says to a caller."""
        return str(self).removesuffix(self.UNCERTAIN).rstrip()

    @property
    def is_of_login(self) -> bool:
        """Return whether its text says that the server did not let this user in."""
        return f" {self.REJECTED}: " in str(self)

    @property
    def is_uncertain(self) -> bool:
        """Return whether its text says that the call may have been executed."""
        return str(self).endswith(self.UNCERTAIN)


class LocalError(UnavailableError):
    """No connection could be made because this machine lacks something; the server was not asked.

    Descriptors, memory, a local port, a certificate file. Nothing was written. It may be temporary,
    so callers that retry when a server is down retry here too.
    """

    def __init__(self, server: str, missing: str) -> None:
        self.server = server
        super().__init__(
            f"{server} was not contacted, and nothing was written by this attempt: {missing}. The "
            "problem is on this machine, not on the server; retry once it is fixed here."
        )


class MovedError(UnavailableError):
    """Jobs are moving to another partition, and the route did not say where to within the time.

    Nothing was written. version: of the route that knows; calls follow it by themselves.
    """

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(
            f"these jobs belong to another partition by version {version} of the route, which "
            f"could not be read in time; nothing was written by this attempt. Retry later with the "
            f"same ids. If this persists, the route record may be lost: run `queuepool check`."
        )


class QueueFullError(UnavailableError):
    """A partition is at its maximum depth or bytes; `rejected` jobs did not fit.

    depth and size_bytes: jobs that have not ended, and their bodies; dead jobs do not count.
    results: one per job consumed from the iterable, without exception.
    """

    def __init__(
        self,
        *,
        partition: int,
        depth: int,
        size_bytes: int,
        rejected: int,
        max_depth: int | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self.partition, self.depth, self.size_bytes = partition, depth, size_bytes
        self.rejected = rejected
        by_depth = max_depth is not None and depth + rejected > max_depth
        if by_depth:
            limit = f"QUEUEPOOL_MAX_DEPTH={max_depth}"
        else:
            limit = "QUEUEPOOL_MAX_BYTES" + ("" if max_bytes is None else f"={max_bytes}")
        super().__init__(
            f"partition {partition} is full: {depth:,} jobs in {size_bytes:,} bytes are "
            f"unfinished, and {rejected:,} more would exceed {limit}, so they were not "
            "enqueued. Retry later with the same ids (enqueue_many waits if wait_when_full_s is "
            "set). If jobs are ready, add workers; delayed jobs need time, or a higher "
            "limit."
        )


class NotConfirmedError(UnavailableError):
    """Jobs are stored on the primary, but too few others confirmed them in time.

    replicas: how many did, of `wanted`. fsynced: whether the primary did (durability `fsynced`).
    The jobs run as usual, unless the primary is lost first. Enqueue those that `results` marks
    `unknown` again with the same ids: nothing is added twice, and existing jobs are confirmed.
    """

    def __init__(
        self,
        *,
        partition: int,
        durability: str,
        fsynced: bool,
        replicas: int,
        wanted: int,
        waited_s: float,
    ) -> None:
        self.partition, self.durability, self.fsynced = partition, durability, fsynced
        self.replicas, self.wanted = replicas, wanted
        short = "it was not fsynced" if not fsynced else f"{replicas} of {wanted} replicas have it"
        super().__init__(
            f"partition {partition}: stored on the primary, but not {durability} after "
            f"{waited_s:g} s: {short}. Enqueue again with the same ids, which adds nothing "
            "twice; if it persists, check the replicas and their lag "
            "(QUEUEPOOL_CONFIRM_REPLICAS, QUEUEPOOL_TIMEOUT_S)."
        )


class FencedError(QueuePoolError):
    """A newer owner holds the partition or leads; the caller must stop writing."""

    def __init__(self, *, what: str, epoch: int, current: int) -> None:
        self.what, self.epoch, self.current = what, epoch, current
        if current < epoch:
            known = f"epoch {current}" if current else "no owner"
            found = f"is ahead of the server's, which is {known}"
            remedy = (
                "the server lost its latest writes in a crash or a failover: check its "
                "persistence and its replicas."
            )
        else:
            found = f"was replaced by {current}" if current > epoch else "was released"
            remedy = (
                "if this repeats, two processes are configured for the same partition, or the "
                "host stalls for longer than the lease."
            )
        super().__init__(
            f"{what}: epoch {epoch} {found}. Nothing was written. Exit and let the supervisor "
            f"restart this process; {remedy}"
        )


class ScriptError(QueuePoolError):
    """The server refused a script; the message is the server's, with a remedy if one is known."""


class ForeignValueError(ScriptError):
    """A key holds the wrong type of value; nothing was done. If it stays, the owner repairs it."""


class UndecodableError(QueuePoolError):
    """A stored job cannot be read: unknown version, truncated, or foreign data."""


class BadPayloadError(QueuePoolError):
    """A payload does not fit the annotations of its task; the job is dead at once (`bad-payload`).

    argument: the first that cannot be converted. Where the task is registered, `enqueue` already
    rejects such a payload with InvalidInputError.
    """

    def __init__(self, message: str, *, argument: str = "") -> None:
        self.argument = argument
        super().__init__(message)


class WaitTimeoutError(QueuePoolError, TimeoutError):
    """The awaited event did not happen in time; it may still happen."""
