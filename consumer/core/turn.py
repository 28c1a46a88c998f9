"""One turn of an owner: the verbs of a round trip, and who heeds each reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from queuepool.verbs import Verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import Outcome
    from queuepool.servers import Reply

OnReply = Callable[[Any], None]
Step = tuple[Verb[Any], OnReply]


def read_replies(steps: Sequence[Step], replies: Sequence[Reply]) -> Exception | None:
    """Read each reply and hand it over; returns the first error, after all were read."""
    failed: Exception | None = None
    for (verb, on_reply), reply in zip(steps, replies, strict=True):
        try:
            on_reply(verb.read(reply))
        except Exception as error:
            failed = failed or error
    return failed


@dataclass(slots=True)
class Turn:
    """One turn: its verbs, what to do with each reply, and the outcomes that it records.

    recording: how many of the steps, the first ones, record the outcomes; sent_bytes: about how
    large these are. claiming: how many jobs are asked for. progress: its answer showed that the
    work of this owner goes on.
    """

    now_s: float
    steps: list[Step] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    recording: int = 0
    sent_bytes: int = 0
    claiming: int = 0
    progress: bool = False

    @property
    def is_rotation(self) -> bool:
        """Return whether it only changes the nonce, as the first turn after a lost one does."""
        return len(self.steps) == 1 and self.steps[0][0].script == "rekey"

    @property
    def verbs(self) -> list[Verb[Any]]:
        """Return the verbs, in order."""
        return [verb for verb, _ in self.steps]
