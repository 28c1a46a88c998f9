"""A chunk: at most 200 jobs of one partition and pool, laid out as one call. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from queuepool.models.places import DEFAULT_POOL, NEW_PLACE
from queuepool.settings.config import PoolConfig
from queuepool.tasks.wishes import Wish
from queuepool.verbs import Argument, Verb
from queuepool.verbs.producer import verbs as produce

CHUNK = 200
CHUNK_BYTES = 4 * 1024**2  # a larger chunk is closed, however few its jobs
STAMP_BYTES = 13


class Chunk(msgspec.Struct, eq=False):
    """At most 200 jobs of one partition and pool, laid out for the enqueue script.

    key: the base of that pool of the partition.
    sent_s: when a call with it was last sent; 0: never, so it is certainly not stored.
    unanswered_since_s: when the first call was sent that got no reply; it may be stored.
    wishes: positions of jobs, from 1, each with what it asks for.
    taken: whether the sender received it, or was about to.
    chosen: those of its ids that the application chose; the library made the others.
    ended: those of its ids that are known to have ended, since an earlier call: they are not sent.
    since: the version of the route by which the partition was chosen. version: the one that is
    sent, 0 if a slot is on its way. asked: the one by which former places were asked for its ids.
    """

    partition: int
    key: bytes
    size_bytes: int = 0
    sent_s: float = 0.0
    unanswered_since_s: float | None = None
    ids: list[bytes] = msgspec.field(default_factory=list)
    positions: list[int] = msgspec.field(default_factory=list)
    runs: list[Argument] = msgspec.field(default_factory=list)
    chosen: set[bytes] = msgspec.field(default_factory=set)
    wishes: list[Argument] = msgspec.field(default_factory=list)
    ended: frozenset[bytes] = frozenset()
    taken: bool = False
    pool: str = DEFAULT_POOL
    version: int = 1
    since: int = 1
    asked: int = 0
    _run: tuple[Any, ...] = ()
    _count_at: int = -1

    @property
    def place(self) -> bytes:
        """Return what tells its place from all others."""
        return place_key(self.partition, self.key)

    def add(
        self, run: tuple[Any, ...], job_id: bytes, tail: bytes, wish: Wish | None = None
    ) -> None:
        """Append one job; run = (tier, group, delay ms). wish: what it asks for besides.

        Its position is added when the job is complete: see `whole`.
        """
        self.ids.append(job_id)
        if run != self._run:
            self._run, self._count_at = run, len(self.runs) + 3
            self.runs += (*run, 0)
        self.runs[self._count_at] += 1  # type: ignore[operator]
        self.runs += (job_id, tail)
        self.size_bytes += STAMP_BYTES + len(tail)
        if wish is not None:
            self.wishes += (len(self.ids), *wish)

    @property
    def whole(self) -> bool:
        """Return whether every job is complete; an interrupted `add` leaves one that is not."""
        return 0 < len(self.ids) == len(self.positions)

    def mark_unanswered(self, since_s: float) -> None:
        """Remember that a call with it, sent at this time, got no reply."""
        if self.unanswered_since_s is None:
            self.unanswered_since_s = since_s

    @property
    def slot(self) -> bytes | None:
        """Return the slot of its jobs, 3 hex digits, if all are of one run, else None."""
        tail = self.runs[5]
        return tail[:3] if self.runs[3] == len(self.ids) and isinstance(tail, bytes) else None

    def verb(
        self, config: PoolConfig, ahead: Iterable[Chunk] = ()
    ) -> Verb[produce.Settled | produce.Full]:
        """Return the call that enqueues the chunk. ahead: those sent there, not answered yet.

        While slots move, one of them may be turned away for a slot that this one does not have.
        Then so is this one, or its jobs would overtake those of the same groups.
        """
        return produce.enqueue(
            self.runs,
            self.wishes,
            jobs=len(self.ids),
            size_bytes=self.size_bytes,
            max_depth=config.max_depth,
            max_bytes=config.max_bytes,
            version=self.version,
            behind=sum(one.slot is None or one.slot != self.slot for one in ahead),
        )


def place_key(partition: int, base: bytes) -> bytes:
    """Return what tells a place from all others, also from that of the same keys elsewhere."""
    return base if partition < NEW_PLACE else b"%d@%s" % (partition, base)


OpenChunks: TypeAlias = dict[bytes, Chunk]  # by place


def given(open_chunks: OpenChunks, place: bytes) -> Iterator[Chunk]:
    """Yield the chunk of a place; it leaves the open ones when the next is requested."""
    chunk = open_chunks[place]
    chunk.taken = True
    yield chunk
    del open_chunks[place]


def emptied(open_chunks: OpenChunks) -> Iterator[Chunk]:
    """Yield all open chunks in the order in which they were opened."""
    while open_chunks:
        yield from given(open_chunks, next(iter(open_chunks)))
