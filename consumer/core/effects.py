"""What a consumer's life asks of the world: it yields an effect and is sent the answer. Pure.

    Call     one round trip: the replies in order, errors of single verbs in their places; where
             there is no answer at all, an UnavailableError is thrown into the life
    Listen   the Bell of a partition, to sleep on; or an UnavailableError
    Sleep    until a token comes, someone rings, or the time is over: the token, or None
    Rest     until the time is over, whoever rings
    Pause    as Rest, but it ends a moment after the consumer is asked to stop

Threads carry effects out in production (consumer.loop), a scheduler on virtual time in the
simulation; what comes between two effects happens at one instant of the life's clock.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import ClaimedJob, Outcome
    from queuepool.servers import Reply
    from queuepool.verbs import Verb

T = TypeVar("T")


@dataclass(slots=True)
class Call:
    """Run these verbs on a partition in one round trip."""

    partition: int
    verbs: Sequence[Verb[Any]]


@dataclass(slots=True)
class Listen:
    """Open what the owner of a partition sleeps on."""

    partition: int


@dataclass(slots=True)
class Wait:
    """Let so much time pass."""

    seconds: float


class Sleep(Wait):
    """Wait on the bell, at most so long."""

    __slots__ = ()


class Rest(Wait):
    """Wait so long."""

    __slots__ = ()


class Pause(Wait):
    """Wait so long, unless the consumer is stopped."""

    __slots__ = ()


Effect: TypeAlias = Call | Listen | Sleep | Rest | Pause
Steps: TypeAlias = Generator[Effect, Any, T]


class Bell(Protocol):
    """What an owner sleeps on, without the sleep. Nothing here waits."""

    def arm(self, verb: Verb[Any]) -> bool:
        """Have the server run a verb with the next token; returns False when that is impossible."""

    def answer(self) -> Reply:
        """Return what the armed verb was answered, once; None while it is under way."""

    def disarm(self) -> None:
        """Give up the armed verb: it may or may not have happened."""

    def close(self) -> None:
        """Leave tokens to whoever is next. Idempotent."""


class Workers(Protocol):
    """What runs jobs. Nothing here waits. start_until_s: no job begins after it."""

    start_until_s: float

    @property
    def alive(self) -> int:
        """Return how many workers there are."""

    @property
    def target(self) -> int:
        """Return how many there should be."""

    @property
    def spare(self) -> int:
        """Return how many slots there are beyond the target; negative while some are missing."""

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a worker."""

    def resize(self, target: int) -> None:
        """Have so many workers; surplus ones leave after the job they run."""

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the workers, in order."""

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that no worker has begun."""

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call."""
