"""What the rules know of jobs, and of how groups and tenants may run. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from queuepool.models.tenants import tenant_of

ANY = 10**9  # jobs


@dataclass(slots=True)
class Job:
    """What is known of a job that was accepted."""

    job_id: bytes
    lane: tuple[bytes, bytes]  # tier, group
    delayed: bool
    due_s: float | None = None  # by when it is to start, until it did
    since_s: float = 0.0  # when its body was replaced last
    key: bytes = b""  # behind e or s; none: it has none, or freed it
    alive: bool = True
    crashed: bool = False  # was in flight when its owner was lost
    loose: bool = False  # was claimed while its group was not serial: its place was not kept
    epoch: int | None = None  # in flight there
    claim: tuple[int, int] = (0, ANY)  # number of its last claim; what the group might run then

    @property
    def group(self) -> bytes:
        """Return its group."""
        return self.lane[1]

    @property
    def tenant(self) -> bytes | None:
        """Return its tenant, if it has one."""
        return tenant_of(self.group)


@dataclass(slots=True)
class Settings:
    """How a group or a tenant may run."""

    held_s: float | None = None  # since when
    most: int = 0  # 0: any number
    serial: bool = False

    def hold(self, at_s: float, *, on: bool) -> None:
        """Hold it, if it is not held, or release it."""
        if not on:
            self.held_s = None
        elif self.held_s is None:
            self.held_s = at_s

    @property
    def room(self) -> int:
        """Return how many of its jobs may be in flight at once."""
        return 1 if self.serial else self.most or ANY
