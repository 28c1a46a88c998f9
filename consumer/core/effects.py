"""The effects of a consumer's life: it yields an effect and receives the answer. Pure.

    Call     one round trip: the replies in order, errors of single verbs in their places; without
             any reply, an UnavailableError is thrown into the life
    Listen   the Bell of a partition, to sleep on, and the name of its server; or an
             UnavailableError
    Sleep    until a token, a ring, or the end of the time: the token, or None
    Rest     until the end of the time, ignoring rings
    Pause    like Rest, but it ends shortly after the consumer is asked to stop

Threads execute effects in production (consumer.loop), a scheduler on virtual time in the
simulation; everything between two effects happens at one instant of the life's clock.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import ClaimedJob, Outcome
    from consumer.core.remote_call import RemoteCall
    from queuepool.servers import Reply
    from queuepool.verbs import Verb

T = TypeVar("T")


class Call(Struct):
    """Run these verbs on a partition in one round trip."""

    partition: int
    verbs: Sequence[Verb[Any]]


class Listen(Struct):
    """Open the bell on which the owner of a partition sleeps."""

    partition: int


class Wait(Struct):
    """Let this much time pass."""

    seconds: float


class Sleep(Wait):
    """Wait on the bell, at most this long."""


class Rest(Wait):
    """Wait this long."""


class Pause(Wait):
    """Wait this long, unless the consumer is stopped."""


Effect: TypeAlias = Call | Listen | Sleep | Rest | Pause
Steps: TypeAlias = Generator[Effect, Any, T]


class Bell(Protocol):
    """The bell on which an owner sleeps, without the sleeping. Nothing here waits."""

    @property
    def lifeline(self) -> str:
        """Return which connection it has, "" for none, or if the server does not tell."""

    def settle(self) -> None:
        """Report that standbys know that connection; it may have kept older ones until then."""

    def arm(self, verb: Verb[Any]) -> bool:
        """Make the server run a verb with the next token; returns False if that is impossible."""

    def answer(self) -> Reply:
        """Return the reply to the armed verb, once; None while it is pending."""

    def disarm(self) -> None:
        """Give up the armed verb: it may or may not have happened."""

    def close(self) -> None:
        """Leave tokens to the next owner. Idempotent."""


class OtherPartitions(Protocol):
    """Other partitions, on any server: where remote calls go. Nothing here waits."""

    def send(self, calls: Sequence[RemoteCall]) -> None:
        """Make these calls, in this order at each partition."""

    def take_replies(self) -> list[tuple[RemoteCall, Reply]]:
        """Return what was answered since the last call, errors included."""


class NoOtherPartitions:
    """For owners that never ask others: what is asked is never answered."""

    def send(self, calls: Sequence[RemoteCall]) -> None:
        """Ignore them."""

    def take_replies(self) -> list[tuple[RemoteCall, Reply]]:
        """Return nothing."""
        return []


class Workers(Protocol):
    """The workers. Nothing here waits.

    start_until_s: no job starts after it. late: one came too late and ended as HAND_BACK, and so do
    all others, however late they are, until this is reset.
    """

    start_until_s: float
    late: bool

    @property
    def alive(self) -> int:
        """Return how many workers there are."""

    @property
    def target(self) -> int:
        """Return the target number of workers."""

    @property
    def spare(self) -> int:
        """Return the number of slots beyond the target; negative while some are missing."""

    @property
    def queued(self) -> int:
        """Return how many jobs wait for a worker."""

    def resize(self, target: int) -> None:
        """Set the number of workers; surplus ones leave after their current job."""

    def submit(self, jobs: Sequence[ClaimedJob]) -> None:
        """Hand jobs to the workers, in order."""

    def withdraw(self) -> list[ClaimedJob]:
        """Take back the jobs that no worker has started."""

    def take_ended(self) -> list[Outcome]:
        """Return the executions that ended since the last call."""
