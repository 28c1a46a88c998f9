"""The steps that send the chunks of one call, each until it is settled or time is up.

    one     a chunk of one job
    all     chunks in batches: each batch is one call to one partition, confirmed at its end
    batch   one of them; what it did not store is sent again, chunk by chunk

A chunk whose partition has given jobs away is sent again by a newer route, in parts if they parted;
while its slots are on their way it waits.

Any exception that ends a call, whether a server's error, Ctrl-C or the timeout of the calling job,
carries the results of all consumed jobs: a chunk is recorded as unknown before it is sent, and
updated after its reply is read.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from queuepool.client.chunks import Chunk
from queuepool.client.delivery import (
    SERVER_ERRORS,
    SETTLED,
    Answer,
    Delivery,
    answers,
    call,
    enqueued,
    note_end,
    note_settled,
    record_unknown,
    unanswered,
)
from queuepool.client.durability import Confirmation, batched
from queuepool.client.effects import Call, Follow, Pause, Steps
from queuepool.client.interruption import Source, attach_results, note_sending, note_unsent
from queuepool.client.questions import ask_each
from queuepool.client.recalling import is_doubtful, recalled
from queuepool.client.rerouting import rerouted, waits
from queuepool.client.results import EnqueueResults
from queuepool.errors import MovedError, UnavailableError
from queuepool.errors.escaping import id_text
from queuepool.models import JobState
from queuepool.partitions.route import Leave
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Enqueued
from queuepool.verbs.producer import verbs as produce

_POLL_S = 0.01  # how often a chunk whose slots are on their way asks for the route


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the chunks of a call. confirmation: what a batch needs beyond its reply.

    new_results: returns what results are recorded in.
    """

    config: PoolConfig
    confirmation: Confirmation
    wait_when_full_s: float = 0.0
    new_results: Callable[[], EnqueueResults[Any]] = EnqueueResults

    def one(self, chunk: Chunk) -> Steps[Enqueued]:
        """Send a chunk of one job; return its result. Usually in one call.

        Raises QueueFullError, or the last refusal.
        """
        since_s = monotonic()
        try:
            answer: Answer | None = None
            if not is_doubtful(chunk, self.config.topology.view):
                (answer,) = self._read([chunk], (yield self._call([chunk])))
            if isinstance(answer, SETTLED):
                return enqueued(chunk, answer)
            results = EnqueueResults()
            left: deque[tuple[Chunk, Answer | None]] = deque([(chunk, answer)])
            yield from self._send_again(left, results, since_s)
        except SERVER_ERRORS:
            raise
        except BaseException as error:
            note_unsent(noted := EnqueueResults(), [chunk])
            if chunk.sent_s:
                note_sending(noted, chunk, chunk.sent_s)
            attach_results(error, noted)
            raise
        return results[0]

    def all(
        self,
        chunks: Iterable[Chunk],
        held: Mapping[bytes, Chunk],
        stops: Callable[[int], Steps[bool]] | None = None,
        results: EnqueueResults[Any] | None = None,
    ) -> Steps[EnqueueResults]:
        """Send all chunks in batches; return one result per job.

        held: consumed jobs that are not in a chunk yet. stops: asked after each batch, of so many
        chunks, whether it is the last one. results: what they are recorded in. Results and errors
        are those of queuepool.client.pipeline.Bulk.send_all.
        """
        results = self.new_results() if results is None else results
        gathered = dict[bytes, list[Chunk]]()
        batches = Source(batched(chunks, gathered, together=bool(self.confirmation.verbs)))
        try:
            for batch in batches:
                yield from self.batch(batch, results)
                if stops is not None and (yield from stops(len(batch))):
                    break
        except BaseException as error:
            note_end(error, results, batches, gathered, held)
            raise
        return results

    def batch(self, chunks: Sequence[Chunk], results: EnqueueResults) -> Steps[None]:
        """Send chunks of one partition in one call, and again one by one those not stored.

        Always records the results of all. Raises QueueFullError, or the last refusal.
        """
        since_s = monotonic()
        for chunk in chunks:
            note_sending(results, chunk, since_s)
        view = self.config.topology.view
        if any(is_doubtful(chunk, view) for chunk in chunks):
            left: deque[tuple[Chunk, Answer | None]] = deque((chunk, None) for chunk in chunks)
        else:
            found = self._read(chunks, (yield self._call(chunks)))
            left = note_settled(results, chunks, found)
        yield from self._send_again(left, results, since_s)

    def _send_again(
        self, left: deque[tuple[Chunk, Answer | None]], results: EnqueueResults, since_s: float
    ) -> Steps[None]:
        while left:
            chunk, answer = left.popleft()
            wait_s = self.wait_when_full_s
            delivery = Delivery(chunk, results, self.config, now_s=since_s, wait_when_full_s=wait_s)
            try:
                parts = yield from self._deliver(chunk, answer, delivery)
            except SERVER_ERRORS:
                for other, _answer in left:
                    record_unknown(results, other)
                raise
            left.extendleft((part, None) for part in reversed(parts))
            if not parts:
                since_s = monotonic()

    def _deliver(
        self, chunk: Chunk, answer: Answer | None, delivery: Delivery
    ) -> Steps[Sequence[Chunk]]:
        """Send a chunk until it is settled; or return its parts by a newer route, to be sent."""
        while True:
            try:
                if answer is None and is_doubtful(chunk, self.config.topology.view):
                    parts = yield from self._new_ones(chunk, delivery)
                    if parts is not None:
                        return parts
                if answer is None:
                    (answer,) = self._read([chunk], (yield self._call([chunk])))
                if isinstance(answer, MovedError):
                    parts = yield from self._parts(chunk, delivery)
                    if parts is not None:
                        return parts
            except UnavailableError as error:  # of a place that was asked for ids
                answer = error
            pause_s = delivery.pause_after(answer, monotonic(), random.random())
            if pause_s is None:
                return ()
            if isinstance(answer, MovedError):  # the route is asked, not the partition
                yield Pause(min(pause_s, _POLL_S))
                continue
            if isinstance(answer, UnavailableError) and self._has_another(chunk):
                yield Follow()  # its server may be gone for good, since its slots have moved
            yield Pause(pause_s)
            answer = None

    def _has_another(self, chunk: Chunk) -> bool:
        """Return whether the route is on another server than the partition of a chunk."""
        topology = self.config.topology
        return topology.view.record is not None and topology.server_of(chunk.partition) != (
            topology.system
        )

    def _new_ones(self, chunk: Chunk, delivery: Delivery) -> Steps[Sequence[Chunk] | None]:
        """Return a chunk without the ids that need not be sent; None if it has none."""
        view = self.config.topology.view
        stored = yield from recalled(chunk, self.config, view)
        delivery.note_stored(stored)
        return rerouted(chunk, self.config, view, stored) if stored else None

    def _parts(self, chunk: Chunk, delivery: Delivery) -> Steps[Sequence[Chunk] | None]:
        """Return a chunk that was turned away by a newer route; None while it has to wait."""
        for last in (False, True):
            view = self.config.topology.view
            if not waits(chunk, view) and (view.version > chunk.since or not chunk.version):
                stored = yield from self._stored(chunk, view)
                delivery.note_stored(stored)
                return rerouted(chunk, self.config, view, stored)
            if not last:
                yield Follow()
        return None

    def _stored(self, chunk: Chunk, view: View) -> Steps[frozenset[bytes]]:
        """Return the ids of a chunk that its place has: nothing of a slot moves in a migration.

        Only those of an unanswered call can be there; a place that turned it away gets no more.
        """
        if chunk.unanswered_since_s is None or not view.is_open:
            return frozenset()
        calls = [
            (chunk.partition, produce.status(id_text(job_id), chunk.partition, produce.ANY_VERSION))
            for job_id in chunk.ids
        ]
        found = yield from ask_each(self.config.of(chunk.pool), calls)
        known = (status.state is not JobState.UNKNOWN for status in found)
        return frozenset(job_id for job_id, is_in in zip(chunk.ids, known, strict=True) if is_in)

    def _call(self, chunks: Sequence[Chunk]) -> Call:
        first = chunks[0]
        first.sent_s = monotonic()
        verbs = call(chunks, self.config, self.confirmation)
        return Call(first.partition, verbs, Leave.RECORD, first.pool, adds=True, since=first.since)

    def _read(
        self, chunks: Sequence[Chunk], replies: Sequence[Any] | UnavailableError
    ) -> list[Answer]:
        if isinstance(replies, UnavailableError):
            return unanswered(chunks, replies, chunks[0].sent_s)
        return answers(chunks, replies, self.confirmation, chunks[0].sent_s)
