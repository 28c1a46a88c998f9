"""A job as a row of an outbox: laid out for the enqueue script, but not tied to a partition. Pure.

The number of partitions may change while a row waits: it holds the slot, and the relay finds the
partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from queuepool.client.chunks import CHUNK, CHUNK_BYTES, STAMP_BYTES, Chunk, place_key
from queuepool.errors import InvalidInputError
from queuepool.models.places import check_pool
from queuepool.protocol.codec import read_group
from queuepool.routing.slots import SLOTS
from queuepool.routing.views import View
from queuepool.settings.config import PoolConfig

VERSION = 1
Places: TypeAlias = Mapping[tuple[str, int], int]  # the partition of rows of a pool and a slot
_MOST_HEAD = 300  # bytes of a tail, up to the end of the group


class Row(msgspec.Struct, array_like=True, frozen=True):
    """A job. run: tier, group, delay in ms; tail: its body from the slot on; wish: see enqueue.

    due_ms: when it becomes ready, in ms since 1970, if the application said so. Relays of earlier
    versions overlook that, and take the delay that was left when the row was added.
    """

    version: int
    pool: str
    run: tuple[int, bytes, int]
    job_id: bytes
    tail: bytes
    wish: tuple[bytes | int, ...] = ()
    due_ms: int | None = None

    def run_at(self, now_ms: int) -> tuple[int, bytes, int]:
        """Return the run of the job, with the delay that is left at this time."""
        if self.due_ms is None:
            return self.run
        tier, group, _delay_ms = self.run
        return tier, group, max(0, self.due_ms - now_ms)

    @property
    def slot(self) -> int:
        """Return the slot of the job's partition key."""
        return int(self.tail[:3], 16)

    @property
    def group(self) -> bytes:
        """Return the group that its body names."""
        return read_group(bytes(STAMP_BYTES) + self.tail[:_MOST_HEAD])


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Row)


def encode(chunk: Chunk, due_ms: int | None = None) -> bytes:
    """Return a chunk of one job as a row. due_ms: see Row."""
    tier, group, delay_ms, _one, job_id, tail = chunk.runs
    wish: Any = tuple(chunk.wishes[1:])
    run: Any = (tier, group, delay_ms)
    row = Row(VERSION, chunk.pool, run, _bytes(job_id), _bytes(tail), wish, due_ms)
    return _encoder.encode(row)


def decode(raw: object) -> Row:
    """Return the row. Raises InvalidInputError if it is damaged, or of a newer version."""
    try:
        row = _decoder.decode(bytes(raw) if isinstance(raw, (bytes, memoryview)) else b"")
        known = row.version == VERSION and 0 <= row.slot < SLOTS and check_pool(row.pool)
        if known and row.group == row.run[1]:
            return row
    except (msgspec.MsgspecError, ValueError, InvalidInputError):
        pass
    raise InvalidInputError("this version cannot read the job in this row")


class Delivery:
    """Rows of one partition and pool, which are enqueued by one call, now. ids: of the rows."""

    def __init__(self, chunk: Chunk, now_ms: int) -> None:
        self.chunk, self.ids, self._now_ms = chunk, list[int](), now_ms

    def add(self, row_id: int, row: Row) -> bool:
        """Take a row as well; returns whether there was room."""
        chunk = self.chunk
        size = STAMP_BYTES + len(row.tail)
        if self.ids and (len(self.ids) == CHUNK or chunk.size_bytes + size > CHUNK_BYTES):
            return False
        run = row.run_at(self._now_ms)
        chunk.add(run, row.job_id, row.tail, row.wish or None)  # type: ignore[arg-type]
        chunk.chosen.add(row.job_id)
        self.ids.append(row_id)
        return True


def deliveries(
    rows: list[tuple[int, Row]],
    config: PoolConfig,
    view: View,
    now_ms: int,
    waiting: Places | None = None,
) -> list[Delivery]:
    """Return rows as deliveries of this time, in order within each partition and pool.

    waiting: slots whose rows are for these partitions, wherever the view has them.
    """
    found: list[Delivery] = []
    open_ones: dict[bytes, Delivery] = {}
    for row_id, row in rows:
        partition = view.partition_of(row.slot)
        if waiting:
            partition = waiting.get((row.pool, row.slot), partition)
        key = config.of(row.pool).keyspace.partition(partition)
        place = place_key(partition, key)
        last = open_ones.get(place)
        if last is None or not last.add(row_id, row):
            chunk = Chunk(partition, key, pool=row.pool, version=view.version, since=view.version)
            open_ones[place] = last = Delivery(chunk, now_ms)
            found.append(last)
            last.add(row_id, row)
        last.chunk.version = min(last.chunk.version, view.version_for(row.slot))
    return found


def _bytes(value: Any) -> bytes:
    return bytes(value)
