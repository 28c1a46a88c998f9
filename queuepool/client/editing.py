"""Changing one job that is there, as steps for both pools: its arguments, and when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queuepool.client.effects import Steps
from queuepool.client.locating import find_by_key
from queuepool.client.producer import Producer
from queuepool.client.questions import ask, find, following
from queuepool.client.routes import Route
from queuepool.errors import InvalidInputError
from queuepool.models import JobState, JobStatus
from queuepool.models.places import DEFAULT_POOL
from queuepool.protocol import codec
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.verbs.operator import editing
from queuepool.verbs.operator import verbs as operate

_TRIES = 3
_WHY_NOT = {
    "in-flight": "it is running or about to: cancel it, or wait until it has failed",
    "cancelled": "it was cancelled",
    "changed": "it keeps changing",
    "moving": "its group is being moved to another partition: repeat this when `queuepool moves` "
    "shows that it has arrived",
}


class UnchangeableJobError(InvalidInputError):
    """A job cannot be changed in its present state; nothing was changed."""

    def __init__(self, job_id: str, why: str) -> None:
        super().__init__(f"job {job_id} was not changed: {why}")


class UnknownJobError(UnchangeableJobError):
    """A job has ended or never existed."""

    def __init__(self, job_id: str) -> None:
        super().__init__(job_id, "it has ended or never existed")


def locate(config: PoolConfig, job_id: str, route: Route | None) -> Steps[JobStatus]:
    """Return where a job is. Raises UnknownJobError if it is nowhere.

    route: of its group, if its key is known.
    """

    def looking(view: View) -> Steps[JobStatus]:
        if route is None:
            return find(config, view, job_id)
        return find_by_key(config, view, route.partition, job_id, DEFAULT_POOL, route)

    status = yield from following(config, looking)
    if status.state in (JobState.UNKNOWN, JobState.DONE, JobState.CANCELLED, JobState.EXPIRED):
        raise UnknownJobError(job_id)
    return status


def run_now(config: PoolConfig, job_id: str, route: Route | None) -> Steps[JobState]:
    """Run a job as soon as it may: one that is delayed or dead; returns the state it was in."""
    status = yield from locate(config, job_id, route)
    of_pool = config.of(status.pool or DEFAULT_POOL)
    if status.state is JobState.DELAYED:
        if (yield from ask(of_pool, status.partition, editing.hasten(job_id))) is None:
            raise UnchangeableJobError(job_id, _WHY_NOT["moving"])
    elif status.state is JobState.DEAD:
        done = yield from ask(of_pool, status.partition, operate.replay([job_id]))
        if done.kept_out:
            raise UnchangeableJobError(
                job_id,
                "another job holds its unique key, or its group is being moved to another "
                "partition",
            )
    return status.state


def edit(
    config: PoolConfig,
    producer: Producer,
    job_id: str,
    payload: Mapping[str, Any],
    route: Route | None,
) -> Steps[JobState]:
    """Give a job that does not run other arguments; returns its state.

    Raises InvalidInputError for arguments that its task does not take.
    """
    status = yield from locate(config, job_id, route)
    of_pool = config.of(status.pool or DEFAULT_POOL)
    for _ in range(_TRIES):
        answer = yield from ask(of_pool, status.partition, editing.edit(job_id))
        state, body = answer
        if not body:
            break
        old = codec.decode_envelope(body)
        envelope = codec.encode_envelope(
            old.task, payload, old.options, limit=config.max_payload_bytes
        )
        task = producer.registry.find(old.task)
        if task is not None:
            task.signature.check(payload, envelope)
        verb = editing.edit(job_id, body, envelope)
        state, _ = yield from ask(of_pool, status.partition, verb)
        if state == "edited":
            return status.state
        if state != "changed":
            break
    if state == "unknown":
        raise UnknownJobError(job_id)
    raise UnchangeableJobError(job_id, _WHY_NOT.get(state, state))
