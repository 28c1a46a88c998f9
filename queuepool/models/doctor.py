"""A verdict on a whole queue, and what it is based on besides the states of partitions. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is.

    critical: jobs wait or may be lost now. warning: they will, or something is failing. notice:
    worth a look, nothing is failing.
    """

    CRITICAL = "critical"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong. subject: where, such as a partition, a server, or a limit's name.

    since_ms: None if nobody watched it begin. what: the facts with their figures; meaning: what
    follows from them; remedy: what to run or change.
    """

    kind: str
    severity: Severity
    subject: str
    what: str
    meaning: str
    remedy: str
    since_ms: int | None = None


UNREAD = "could not be read"


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A kind of finding that could not be looked for, and why."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong, the worst first; or nothing. at_ms: when that was so."""

    at_ms: int
    findings: tuple[Finding, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()

    @property
    def well(self) -> bool:
        """Return whether nothing was found."""
        return not self.findings

    @property
    def all_read(self) -> bool:
        """Return whether everything could be read that was looked for."""
        return all(one.why != UNREAD for one in self.unjudged)


class Refusal(StrEnum):
    """Why a server refuses every write, by the first word of its reply.

    It cannot save its data to disk; it has fewer replicas than it must have; it is a replica.
    """

    UNSAVED = "MISCONF"
    ALONE = "NOREPLICAS"
    REPLICA = "READONLY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFigures:
    """What a server tells of itself. Times in s, sizes in bytes; None: it does not tell.

    problem: why it could not be asked. refusal: why it refuses every write. expiring: keys with an
    expiry, such as results. behind: bytes that its slowest connected replica lacks; silent_s: since
    that one was last heard of. cpu_s: CPU time since its start of the thread that runs scripts, 0:
    unknown; calls: commands since then.
    """

    name: str
    problem: str = ""
    refusal: Refusal | None = None
    run_id: str = ""
    up_s: int = 0
    clustered: bool = False
    used: int = 0
    limit: int = 0
    policy: str = ""
    evicted: int = 0
    keys: int = 0
    expiring: int = 0
    appendonly: bool | None = None
    write_error: bool = False
    replicas: int = 0
    behind: int = 0
    silent_s: int = 0
    cpu_s: float = 0.0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A group and its waiting jobs in one tier."""

    group: bytes
    jobs: int


@dataclass(frozen=True, slots=True)
class Running:
    """What a job that runs belongs to."""

    slot: int
    group: bytes


@dataclass(frozen=True, slots=True)
class Held:
    """A group or a tenant that is held, and since when."""

    name: bytes
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What a partition tells beyond its state.

    running: the job that has run longest, and since when. groups: the two largest lanes of those
    looked at. held_group, held_tenant: the ones held longest, of those looked at. sample: of some
    jobs that run, others in each look.
    """

    now_ms: int
    running: tuple[str, int] | None = None
    lanes: int = 0
    groups: tuple[Waiting, ...] = ()
    held_group: Held | None = None
    held_tenant: Held | None = None
    sample: tuple[Running, ...] = ()
