"""One turn of an owner: what its steps send in a round trip, and what the replies bring. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.jobs import ClaimedJob, Outcome
    from consumer.core.steps.step import Step
    from queuepool.servers import Reply
    from queuepool.verbs import Verb


class Turn(Struct):
    """What a turn sends, and what its steps record about it.

    parts: each step with the number of its verbs, in order.
    now_s: when it was planned; replied_s: when its replies were applied.
    is_rotation: it only changes the nonce, like the first turn after a lost one.
    outcomes: what it records, about sent_bytes in size; recorded: whether the server has all of it;
    returns: whether it hands jobs back.
    looks: whether it reads what waits at gates, to learn about jobs that were admitted.
    starts: jobs that it reports as started. claiming: how many jobs it claims; starting: how many
    of those find a free worker; ahead: lanes whose turn comes later. jobs: to start now. left:
    ids that the server did not finish.
    progress: its replies show that this owner makes progress. counts_try: a result that was sent
    alone before got no reply, but the renewal of this turn did.
    """

    now_s: float
    verbs: list[Verb[Any]] = field(default_factory=list)
    parts: list[tuple[Step, int]] = field(default_factory=list)
    is_rotation: bool = False
    outcomes: Sequence[Outcome] = ()
    sent_bytes: int = 0
    recorded: bool = False
    returns: bool = False
    looks: bool = False
    starts: Sequence[ClaimedJob] = ()
    claiming: int = 0
    starting: int = 0
    ahead: Sequence[bytes] = ()
    replied_s: float = 0.0
    jobs: list[ClaimedJob] = field(default_factory=list)
    events: list[object] = field(default_factory=list)
    duplicates: int = 0
    left: set[bytes] = field(default_factory=set)
    progress: bool = False
    counts_try: bool = False

    def add(self, step: Step) -> bool:
        """Append what a step sends, if anything; returns whether it does."""
        verbs = step.verbs(self)
        if not verbs:
            return False
        self.verbs += verbs
        self.parts.append((step, len(verbs)))
        return True

    def carries(self, *steps: Step) -> bool:
        """Return whether one of these steps sends something in it."""
        return any(step in steps for step, _ in self.parts)

    def apply(self, replies: Sequence[Reply], now_s: float) -> Exception | None:
        """Pass each reply to its step; returns the first error, after all were read."""
        self.replied_s = now_s
        failed: Exception | None = None
        answers = zip(self.verbs, replies, strict=True)
        for step, count in self.parts:
            unanswered = 0
            for _ in range(count):
                verb, reply = next(answers)
                try:
                    step.on_reply(verb.read(reply), self)
                except Exception as error:
                    unanswered += 1
                    failed = failed or error
            if not unanswered:
                step.on_answered(self)
        return failed
