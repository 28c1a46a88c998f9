"""The job that continues a batch: what it needs, its id, and the name of the batch. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from queuepool.client.after import After
from queuepool.client.chunks import Chunk
from queuepool.client.defaults import traced
from queuepool.client.producer import Producer
from queuepool.errors import InvalidInputError
from queuepool.models.places import LEGACY
from queuepool.protocol import ids
from queuepool.protocol.batches import batch_name, child_ending, ending_of_text
from queuepool.tasks.batch_ref import BatchRef

LATER_S = 3600.0  # after the deadline: the continuation runs by itself, if nothing concluded it


class Continuation:
    """The chunk of a continuation, but for its id."""

    def __init__(self, task: str, pool: str, hint: bytes, make: Callable[[str], Chunk]) -> None:
        self.task, self.pool, self.hint, self._make = task, pool, hint, make
        self._ending = b""

    def hint_of_parent(self, within: BatchRef) -> str:
        """Return the name of a batch in that one: the same in each attempt of the job."""
        text = f"{within.name}/{within.number}/{within.calls + 1}"
        self._ending = ending_of_text(text)
        return batch_name(self.hint, self._ending, self.pool)

    def chunk(self, parent: tuple[str, int] | None) -> tuple[str, Chunk]:
        """Return the name of the batch, and the chunk with the id that its continuation has."""
        name = batch_name(self.hint, self._ending or ids.ending_from(os.urandom(9)), self.pool)
        return name, self.job(name, parent)

    def job(self, name: str, parent: tuple[str, int] | None) -> Chunk:
        """Return the chunk of the job that continues this batch. parent: the batch it is in."""
        chunk = self._make(name)
        job_id = name.encode() if parent is None else self.hint + child_ending(*parent)
        chunk.ids[0] = chunk.runs[-2] = job_id
        if chunk.partition == LEGACY:
            raise InvalidInputError(
                "batches need partitions, and jobs of this key still go to the legacy place: run "
                "`queuepool migrate shift` first. Nothing was enqueued"
            )
        return chunk

    def named(self, text: str) -> Continuation:
        """Let the batch have the name that this text always has."""
        self._ending = ending_of_text(text)
        return self


def continuation(
    producer: Producer, after: After, partition_key: Any, trace: str | None = None
) -> Continuation:
    """Return the job that follows others. Raises InvalidInputError, and what enqueue raises."""
    task, payload = after.parts()
    after.refuse_impossible()
    own = after.task
    key = _first(getattr(own, "partition_key", None), after.partition_key, partition_key)
    if key is None or callable(key):
        raise InvalidInputError(
            "After needs a partition_key, since the jobs of the call do not share one: it "
            "determines where the continuation runs"
        )
    tenant = _first(getattr(own, "tenant", None), after.tenant)
    delay_s = after.deadline_s + LATER_S
    defaults = traced(producer.defaults(task, delay_s=delay_s, **after.options()), trace)
    route = producer.routes_of(defaults.pool).of(key, tenant)

    def make(name: str) -> Chunk:
        chunk = producer.single(replace(defaults, batch=name), payload, key, None, tenant)
        wishes = any(getattr(own, name, None) is not None for name in ("unique", "expires_s"))
        if wishes or any(chunk.wishes[2::5]) or any(chunk.wishes[3::5]):
            raise InvalidInputError(
                f"task {defaults.task!r}: a continuation cannot have a unique key or expire: it "
                "waits for its jobs, however long they take"
            )
        return chunk

    made = Continuation(defaults.task, defaults.pool, route.hint, make)
    return made if after.batch_id is None else made.named(after.batch_id)


def _first(*given: Any) -> Any:
    """Return what is given first: options of a job take precedence."""
    return next((each for each in given if each is not None), None)


def refuse_unique(chunk: Chunk) -> Chunk:
    """Return a chunk of jobs of a batch. Raises InvalidInputError if one has a unique key."""
    if any(chunk.wishes[2::5]):
        raise InvalidInputError(
            "a job of a batch cannot have a unique key: if another one kept it out, the batch "
            "would wait for it. Use a task without unique keys"
        )
    return chunk
