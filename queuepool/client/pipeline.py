"""A bulk call of the sync pool: many chunks in flight at once, one pipe to each partition.

    chunk --push--> pipe of at most WINDOW chunks --pull--> result
                       | the connection failed: every chunk in flight may be stored
                       |     -> each is sent again, one by one, in order
                       | a chunk was refused: the answers to those behind it are read,
                       |     -> each that is not in is sent again, one by one, in order

A chunk that is sent again is stored once, and the order of its group is kept. Only a full
partition can accept a later chunk before an earlier one, if it gets room between the two.

An interrupted pipe is never read again. Chunks that need confirmation are not streamed;
see queuepool.client.sender.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from time import monotonic

from queuepool.client.chunks import Chunk
from queuepool.client.delivery import (
    SERVER_ERRORS,
    SETTLED,
    Answer,
    answer_of,
    note,
    record_unknown,
)
from queuepool.client.interruption import (
    Source,
    attach_results,
    note_failed_item,
    note_sending,
    note_unsent,
)
from queuepool.client.network import Network
from queuepool.client.recalling import is_doubtful
from queuepool.client.results import EnqueueResults
from queuepool.client.sender import Sender
from queuepool.errors import LocalError, MovedError, UnavailableError
from queuepool.servers import Stream

WINDOW = 6  # chunks in flight to one partition: enough to overlap encoding with the server
_MAX_PIPES = 4  # connections of one bulk call
_FINAL_REPLIES_S = 0.3  # how long an interrupted call waits for outstanding replies


class Pipe:
    """Chunks in flight to one partition, in order; replies are read `WINDOW` chunks later."""

    def __init__(self, network: Network, sender: Sender, results: EnqueueResults) -> None:
        self._network, self._sender, self._results = network, sender, results
        self._window = WINDOW
        self._stream: Stream | None = None
        self._sent: deque[Chunk] = deque()

    def send(self, chunk: Chunk) -> None:
        """Send a chunk; reads the oldest reply when the window is full."""
        note_sending(self._results, chunk, monotonic())
        self._sent.append(chunk)
        try:
            if self._stream is None:
                self._stream = self._network.stream(
                    chunk.partition, WINDOW + 1, chunk.pool, chunk.since
                )
            ahead = islice(self._sent, len(self._sent) - 1)
            self._stream.push(chunk.verb(self._sender.config, ahead))
        except UnavailableError as error:
            if not isinstance(error, (LocalError, MovedError)):  # it was not even sent
                self._mark_unanswered()
            self._send_again()
        while len(self._sent) >= self._window:
            self._settle_oldest()

    def settle(self) -> None:
        """Wait for the replies of all chunks in flight."""
        while self._sent:
            self._settle_oldest()

    def give_up(self) -> None:
        """Record what is known about every chunk in flight; sends nothing more."""
        self._read_replies()
        while self._sent:
            record_unknown(self._results, self._sent.popleft())

    def hurry(self, until_s: float) -> None:
        """Wait for replies no longer than until this monotonic time, in seconds."""
        if self._stream is not None:
            self._stream.hurry(max(0.01, until_s - monotonic()))

    def close(self) -> None:
        """Return the connection."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _settle_oldest(self) -> None:
        answer = self._pull()
        if isinstance(answer, SETTLED):
            note(self._results, self._sent.popleft(), answer)
            return
        if answer is not None:
            # Refused. From now on one call at a time, so that no later chunk overtakes again.
            self._window = 1
            refused = self._sent.popleft()
            self._read_replies()
            self._sent.appendleft(refused)
        self._send_again()

    def _read_replies(self) -> None:
        # Keep the chunks in flight that are not, or possibly not, stored.
        kept: deque[Chunk] = deque()
        while self._sent:
            answer = self._pull()
            chunk = self._sent.popleft()
            if isinstance(answer, SETTLED):
                note(self._results, chunk, answer)
            else:
                kept.append(chunk)
        self._sent = kept

    def _pull(self) -> Answer | None:
        """Return the answer to the oldest chunk; None when the connection failed."""
        if self._stream is None:
            return None
        try:
            reply = self._stream.pull()
        except UnavailableError:
            self._mark_unanswered()
            return None
        return answer_of(reply)

    def _mark_unanswered(self) -> None:
        self.close()
        for chunk in self._sent:
            chunk.mark_unanswered(chunk.sent_s)

    def _send_again(self) -> None:
        self.close()
        while self._sent:
            self._network.do(self._sender.batch([self._sent.popleft()], self._results))


class Bulk:
    """One bulk call: a pipe for each of the pools of partitions used last, and all results."""

    def __init__(self, network: Network, sender: Sender) -> None:
        self.results = sender.new_results()
        self._network, self._sender = network, sender
        self._pipes: dict[bytes, Pipe] = {}  # the most recently used comes last
        self._sending = False
        self._since: int | None = None

    def send(self, chunk: Chunk) -> None:
        """Send a chunk. Raises like Sender.batch, for this or for an earlier chunk."""
        if chunk.since != self._since:  # by another route: nothing overtakes what is in flight
            self._settle()
            for open_one in self._pipes.values():
                open_one.close()  # a partition may be on another server by now
            self._since = chunk.since
        view = self._sender.config.topology.view
        if not self._network.may_send(chunk.since) or is_doubtful(chunk, view):
            self._settle()
            self._network.do(self._sender.batch([chunk], self.results))
            return
        pipe = self._pipes.pop(chunk.place, None)
        if pipe is None:
            pipe = Pipe(self._network, self._sender, self.results)
        self._pipes[chunk.place] = pipe
        pipe.send(chunk)
        if len(self._pipes) > _MAX_PIPES:
            self._retire(next(iter(self._pipes)))

    def send_all(self, chunks: Iterable[Chunk], held: Mapping[bytes, Chunk]) -> EnqueueResults:
        """Send all chunks; returns one result per job. held: consumed jobs not in a chunk yet.

        An exception that ends it carries the results of all consumed jobs; but an error of an
        item is raised after all earlier items are settled, and says how many there were.
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
                note_failed_item(error, self.results)
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
            until_s = monotonic() + _FINAL_REPLIES_S
            for pipe in () if self._sending else self._pipes.values():
                pipe.hurry(until_s)
                pipe.give_up()
            attach_results(error, self.results)

    def _settle(self) -> None:
        for pipe in self._pipes.values():
            pipe.settle()

    def _retire(self, key: bytes) -> None:
        pipe = self._pipes[key]
        pipe.settle()
        pipe.close()
        del self._pipes[key]
