"""Sending chunks: repeated until answered, and many on the way at once.

    chunk --push--> pipe of at most WINDOW chunks --pull--> result
                       | the connection failed: every chunk on the way may be in
                       |     -> each is sent again, one by one, in order
                       | a chunk was refused: what the server says of those behind it is read,
                       |     -> each that is not in is sent again, one by one, in order

A chunk that is sent again is in once, and the order of its group holds. Only a
full partition can let a later chunk in before an earlier one: room may come between two of them.

Whatever ends a call amid all this, an error of a server as well as Ctrl-C or the timeout of the job
that makes it, carries the results of all jobs that were taken: a chunk is noted as unknown before
it is sent, and its answer after it was read. A pipe that was interrupted is never read again.

Chunks that are to be confirmed (queuepool.client.durability) are not streamed: a batch of them goes
in one call, with the confirmation behind them on the same connection.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic

from queuepool.client.delivery import (
    SERVER_ERRORS,
    Answer,
    Delivery,
    answers,
    call,
    enqueued,
    note,
    note_end,
    note_settled,
    record_unknown,
    unanswered,
)
from queuepool.client.durability import Confirmation, batched
from queuepool.client.interruption import Source, note_sending, note_unsent, tell
from queuepool.client.producer import Chunk
from queuepool.client.results import EnqueueResults
from queuepool.errors import LocalError, QueuePoolError, UnavailableError
from queuepool.servers import Port, Stream
from queuepool.settings.config import PoolConfig
from queuepool.tasks.job import Enqueued

WINDOW = 6  # chunks on the way to one partition: enough to overlap encoding with the server
_MAX_PIPES = 4  # connections of one bulk call
_LAST_WORDS_S = 0.3  # of the servers to a call that was interrupted


class Sender:
    """Sends chunks for one call. port_of: the server of a partition. asked: what confirms them."""

    def __init__(
        self, config: PoolConfig, port_of: Callable[[int], Port], asked: Confirmation
    ) -> None:
        self.config, self.port_of, self.asked = config, port_of, asked

    def settle_one(self, chunk: Chunk) -> Enqueued:
        """Send a chunk of one job as `settle` does; returns its result. Usually in one call."""
        since_s = monotonic()
        try:
            (answer,) = self._attempt([chunk])
            if isinstance(answer, bytes):
                return enqueued(chunk, answer)
            results = EnqueueResults()
            self._settle_left(deque([(chunk, answer)]), results, since_s, 0.0)
        except SERVER_ERRORS:
            raise
        except BaseException as error:
            note_unsent(told := EnqueueResults(), [chunk])
            if chunk.sent_s:
                note_sending(told, chunk, chunk.sent_s)
            tell(error, told)
            raise
        return results[0]

    def settle(
        self, chunks: Sequence[Chunk], results: EnqueueResults, *, wait_when_full_s: float
    ) -> None:
        """Send chunks of one partition in one call, and what is not in then again, one by one.

        Each until it is settled or time is up; notes the results of all in either case. Raises
        QueueFullError, or the last refusal.
        """
        since_s = monotonic()
        for chunk in chunks:
            note_sending(results, chunk, since_s)
        left = note_settled(results, chunks, self._attempt(chunks))
        self._settle_left(left, results, since_s, wait_when_full_s)

    def _settle_left(
        self,
        left: deque[tuple[Chunk, Answer]],
        results: EnqueueResults,
        since_s: float,
        wait_when_full_s: float,
    ) -> None:
        while left:
            chunk, answer = left.popleft()
            settling = Delivery(
                chunk, results, self.config, now_s=since_s, wait_when_full_s=wait_when_full_s
            )
            try:
                while pause := settling.pause_after(answer, monotonic(), random.random()):
                    threading.Event().wait(pause)
                    (answer,) = self._attempt([chunk])
            except SERVER_ERRORS:
                for other, _answer in left:
                    record_unknown(results, other)
                raise
            since_s = monotonic()

    def send_all(
        self, chunks: Iterable[Chunk], held: Mapping[int, Chunk], *, wait_when_full_s: float
    ) -> EnqueueResults:
        """Send all chunks in batches; results and errors are those of Bulk.send_all."""
        results, gathered = EnqueueResults(), dict[int, list[Chunk]]()
        batches = Source(batched(chunks, gathered, together=True))
        try:
            for batch in batches:
                self.settle(batch, results, wait_when_full_s=wait_when_full_s)
        except BaseException as error:
            note_end(error, results, batches, gathered, held)
            raise
        return results

    def _attempt(self, chunks: Sequence[Chunk]) -> list[Answer]:
        first, begun_s = chunks[0], monotonic()
        first.sent_s = begun_s
        verbs = call(chunks, self.config, self.asked)
        try:
            replies = self.port_of(first.partition).run(first.key, verbs)
        except UnavailableError as error:
            return unanswered(chunks, error, begun_s)
        return answers(chunks, replies, self.asked, begun_s)


class Pipe:
    """Chunks on the way to one partition, in order, replies read `WINDOW` chunks later."""

    def __init__(self, sender: Sender, results: EnqueueResults, wait_when_full_s: float) -> None:
        self._sender, self._results = sender, results
        self._wait_when_full_s = wait_when_full_s
        self._window = WINDOW
        self._stream: Stream | None = None
        self._sent: deque[Chunk] = deque()

    def send(self, chunk: Chunk) -> None:
        """Send a chunk; reads the oldest reply when the window is full."""
        note_sending(self._results, chunk, monotonic())
        self._sent.append(chunk)
        try:
            if self._stream is None:
                port = self._sender.port_of(chunk.partition)
                self._stream = port.stream(chunk.key, WINDOW + 1)
            self._stream.push(chunk.verb(self._sender.config))
        except UnavailableError as error:
            if not isinstance(error, LocalError):  # it was not even sent
                self._doubt_all()
            self._send_again()
        while len(self._sent) >= self._window:
            self._settle_oldest()

    def settle(self) -> None:
        """Wait for the replies of all chunks on the way."""
        while self._sent:
            self._settle_oldest()

    def give_up(self) -> None:
        """Note what is known of every chunk on the way; sends nothing more."""
        self._read_replies()
        while self._sent:
            record_unknown(self._results, self._sent.popleft())

    def hurry(self, until_s: float) -> None:
        """Wait for no reply beyond a time of the monotonic clock, in seconds."""
        if self._stream is not None:
            self._stream.hurry(max(0.01, until_s - monotonic()))

    def close(self) -> None:
        """Give the connection back."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _settle_oldest(self) -> None:
        answer = self._pull()
        if isinstance(answer, bytes):
            note(self._results, self._sent.popleft(), answer)
            return
        if answer is not None:
            # Refused. One call at a time from now on, so that no later chunk overtakes again.
            self._window = 1
            refused = self._sent.popleft()
            self._read_replies()
            self._sent.appendleft(refused)
        self._send_again()

    def _read_replies(self) -> None:
        # Of the chunks on the way, keep those that are not, or perhaps not, in.
        kept: deque[Chunk] = deque()
        while self._sent:
            answer = self._pull()
            chunk = self._sent.popleft()
            if isinstance(answer, bytes):
                note(self._results, chunk, answer)
            else:
                kept.append(chunk)
        self._sent = kept

    def _pull(self) -> Answer | None:
        """Return what the server says of the oldest chunk; None when the connection failed."""
        if self._stream is None:
            return None
        try:
            reply = self._stream.pull()
        except UnavailableError:
            self._doubt_all()
            return None
        if isinstance(reply, QueuePoolError):
            return reply
        return self._sent[0].verb(self._sender.config).parse(reply)

    def _doubt_all(self) -> None:
        self.close()
        for chunk in self._sent:
            chunk.doubt(chunk.sent_s)

    def _send_again(self) -> None:
        self.close()
        while self._sent:
            wait_s = self._wait_when_full_s
            self._sender.settle([self._sent.popleft()], self._results, wait_when_full_s=wait_s)


class Bulk:
    """One bulk call: a pipe for each of the partitions used last, and the results of all."""

    def __init__(self, sender: Sender, wait_when_full_s: float) -> None:
        self.results = EnqueueResults()
        self._sender, self._wait_when_full_s = sender, wait_when_full_s
        self._pipes: dict[int, Pipe] = {}  # the one used last comes last
        self._sending = False

    def send(self, chunk: Chunk) -> None:
        """Send a chunk. Raises what Sender.settle raises, for this or for an earlier chunk."""
        pipe = self._pipes.pop(chunk.partition, None)
        if pipe is None:
            pipe = Pipe(self._sender, self.results, self._wait_when_full_s)
        self._pipes[chunk.partition] = pipe
        pipe.send(chunk)
        if len(self._pipes) > _MAX_PIPES:
            self._retire(next(iter(self._pipes)))

    def send_all(self, chunks: Iterable[Chunk], held: Mapping[int, Chunk]) -> EnqueueResults:
        """Send all chunks; returns one result per job. held: jobs taken that are in no chunk yet.

        What ends it carries the results of all jobs that were taken; but an error of one of the
        items comes out when everything taken before it is settled, and says how many that were.
        """
        source = Source(chunks)
        try:
            try:
                for chunk in source:
                    self._sending = True
                    self.send(chunk)
                    self._sending = False
            except Exception as error:
                if error is not source.failure:
                    raise
                self._sending = True
                self._settle()
                error.add_note(f"{self.results.accepted:,} jobs before it were enqueued")
                raise
            self._sending = True
            self._settle()
        except BaseException as error:
            note_unsent(self.results, held.values())
            self._give_up(error, source)
            raise
        finally:
            for pipe in self._pipes.values():
                pipe.close()
        return self.results

    def _give_up(self, error: BaseException, source: Source[Chunk]) -> None:
        if isinstance(error, SERVER_ERRORS):
            for pipe in self._pipes.values():
                pipe.give_up()
        elif error is not source.failure:
            until_s = monotonic() + _LAST_WORDS_S
            for pipe in () if self._sending else self._pipes.values():
                pipe.hurry(until_s)
                pipe.give_up()
            tell(error, self.results)

    def _settle(self) -> None:
        for pipe in self._pipes.values():
            pipe.settle()

    def _retire(self, partition: int) -> None:
        pipe = self._pipes[partition]
        pipe.settle()
        pipe.close()
        del self._pipes[partition]
