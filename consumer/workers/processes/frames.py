"""The messages between a process pool and its children, over one socket each. Pure.

    pool    Start, Run, Cancel      --->  child
            Ready, Progress, Ended  <---

A frame is a length of four bytes and a message in msgpack. `job` numbers the jobs of one child, so
that late messages are recognised. A child may break the protocol, since its handlers can write to
any descriptor: a message that is too long or unreadable raises BrokenFrameError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Generic, TypeAlias, TypeVar

import msgspec

from consumer.core.jobs import End
from queuepool.protocol.codec import MAX_PAYLOAD_BYTES, MAX_RESULT_BYTES
from queuepool.protocol.unreadable import UNREADABLE
from queuepool.tasks.context import MAX_PROGRESS_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER_BYTES = 4
_ROOM_BYTES = 64 * 1024  # for the rest of a message beside payload or result
MOST_TO_CHILD = MAX_PAYLOAD_BYTES + _ROOM_BYTES
MOST_TO_POOL = MAX_RESULT_BYTES + _ROOM_BYTES


_Name = Annotated[str, msgspec.Meta(max_length=128)]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class BrokenFrameError(Exception):
    """The other side sent something that is not a message."""


class Start(msgspec.Struct, tag="start", array_like=True):
    """The first message: the application, the ownership, and how to log."""

    app: str
    partition: int
    epoch: int
    log_format: str
    log_level: str


class Run(msgspec.Struct, tag="run", array_like=True):
    """Execute a job, see ClaimedJob. trace: the traceparent of its span, if there is one."""

    job: int
    id: bytes
    body: bytes
    attempt: int
    crashes: int
    trace: str = ""


class Cancel(msgspec.Struct, tag="cancel", array_like=True):
    """Cancellation of the job was requested."""

    job: int


class Ready(msgspec.Struct, tag="ready", array_like=True):
    """The application is imported."""


class Progress(msgspec.Struct, tag="progress", array_like=True):
    """The progress of the job."""

    job: int
    text: Annotated[bytes, msgspec.Meta(max_length=MAX_PROGRESS_BYTES)]


class Ended(msgspec.Struct, tag="ended", array_like=True):
    """The outcome of a job, see Outcome."""

    job: int
    end: End
    task: _Name
    result: bytes | None
    result_ttl_ms: _Count
    delay_ms: _Count
    charged: bool
    error: bytes
    reason: _Name
    max_attempts: _Count
    aside: _Name
    slow_ms: _Count = 0


ToChild: TypeAlias = Start | Run | Cancel
ToPool: TypeAlias = Ready | Progress | Ended
M = TypeVar("M")

_encoder = msgspec.msgpack.Encoder()
_of_pool: msgspec.msgpack.Decoder[ToChild] = msgspec.msgpack.Decoder(ToChild)
_of_child: msgspec.msgpack.Decoder[ToPool] = msgspec.msgpack.Decoder(ToPool)


def frame(message: ToChild | ToPool) -> bytes:
    """Return the bytes of a message."""
    text = _encoder.encode(message)
    return len(text).to_bytes(_HEADER_BYTES, "big") + text


class _Reader(Generic[M]):
    """Reassembles messages from pieces. Unusable after it raised."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[M], most_bytes: int) -> None:
        self._decoder, self._most_bytes, self._held = decoder, most_bytes, bytearray()

    def read(self, data: bytes) -> Iterator[M]:
        """Yield the messages that are complete now. Raises BrokenFrameError."""
        held = self._held
        held += data
        while len(held) >= _HEADER_BYTES:
            size = int.from_bytes(held[:_HEADER_BYTES], "big")
            if size > self._most_bytes:
                raise BrokenFrameError(f"a message of {size:,} bytes")
            if len(held) < _HEADER_BYTES + size:
                return
            text = bytes(held[_HEADER_BYTES : _HEADER_BYTES + size])
            del held[: _HEADER_BYTES + size]
            try:
                yield self._decoder.decode(text)
            except UNREADABLE as error:
                raise BrokenFrameError(str(error)) from None


class ChildReader(_Reader[ToChild]):
    """Reads the messages of a pool."""

    def __init__(self) -> None:
        super().__init__(_of_pool, MOST_TO_CHILD)


class PoolReader(_Reader[ToPool]):
    """Reads the messages of a child."""

    def __init__(self) -> None:
        super().__init__(_of_child, MOST_TO_POOL)
