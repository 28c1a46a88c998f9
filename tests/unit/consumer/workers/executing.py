"""A runner, its registry, and bodies for it: what tests of one execution share."""

import json
from collections.abc import Callable
from time import monotonic
from typing import Any

from consumer.core.jobs import ClaimedJob, Outcome, claimed
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.runner import Runner
from consumer.workers.timeouts import Timekeeper
from queuepool import Registry
from queuepool.protocol import codec
from queuepool.verbs.owner.verbs import Ownership

OWNERSHIP = Ownership(3, "nonce", 1_767_225_600_123)
GROUP = b"group-\xff"  # groups are bytes


class Bench:
    """A runner and its registry; `run` executes one body."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.loop, self.keeper = HandlerLoop(), Timekeeper()
        self.runner = Runner(self.registry, OWNERSHIP, self.loop, self.keeper)

    def run(
        self,
        handler: Callable[..., Any],
        payload: dict[str, Any] | None = None,
        *,
        attempt: int = 1,
        cancelled: bool = False,
        options: codec.Options = codec.NO_OPTIONS,
        **task: Any,
    ) -> Outcome:
        self.registry = Registry()
        self.registry.task(name="t", **task)(handler)
        self.runner._registry = self.registry
        body = make_body("t", payload or {}, options)
        return self.execute(make_job(body, attempt=attempt, cancelled=cancelled))

    def execute(self, job: ClaimedJob) -> Outcome:
        outcome = self.runner.run(job)
        assert outcome.job is job
        assert outcome.ended_s >= outcome.started_s
        return outcome


def make_body(task: str, payload: Any, options: codec.Options = codec.NO_OPTIONS) -> bytes:
    envelope = codec.encode_envelope(task, payload, options, limit=10**8)
    return b"12" + b"%011x" % 1_767_225_600_000 + codec.encode_tail(7, GROUP) + envelope


def make_job(body: bytes, *, attempt: int = 1, cancelled: bool = False) -> ClaimedJob:
    job = claimed(b"job-1", body, attempt, 0, 1_767_225_601_000, monotonic())
    job.cancelled = cancelled
    return job


def error_of(outcome: Outcome) -> dict[str, Any]:
    return json.loads(outcome.error)  # type: ignore[no-any-return]


def raising(error: BaseException) -> Callable[[], None]:
    def handler() -> None:
        raise error

    return handler
