"""The body of a job, as it is stored and travels. Pure, versioned, readable in redis-cli.

    1 2 19a3b2c4d5e 7a1 09 import-42 ["import_row",{"id":7,"name":"Ada"}]
    | | |           |   |  |         envelope: JSON [task, payload] or [task, payload, options]
    | | |           |   |  group     its bytes, whatever they are
    | | |           |   two hex digits: length of the group in bytes, 1-64
    | | |           three hex digits: slot
    | | eleven hex digits: enqueued ms, stamped by the enqueue script from the server's clock
    | tier 0-3
    layout version        (written here with spaces; stored without)

The header is what the scripts read; the envelope is opaque to them. No pickle, ever.
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Mapping
from inspect import isasyncgen, isawaitable, iscoroutine, isgenerator
from struct import Struct
from struct import error as struct_error
from typing import Annotated, Any

import msgspec

from queuepool.errors import (
    InvalidInputError,
    PayloadTooLargeError,
    PermanentError,
    UndecodableError,
)
from queuepool.errors.escaping import shown
from queuepool.errors.jobs import BadResultError
from queuepool.models import ErrorRecord
from queuepool.protocol.lossless import find_lost, find_lost_name, is_deeper
from queuepool.protocol.models import plain_model
from queuepool.protocol.unreadable import UNREADABLE
from queuepool.routing.slots import MAX_GROUP_BYTES

LAYOUT = 0x31  # "1"
HEADER_BYTES = 18
MAX_PAYLOAD_BYTES = 16 * 1024**2  # of an envelope: the server accepts no more from any client
MAX_TAIL_BYTES = MAX_PAYLOAD_BYTES + 5 + MAX_GROUP_BYTES  # slot, length of the group, group
MAX_ID_BYTES = 64
MAX_UNIQUE_BYTES = 512  # of a unique key
_ID_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-~"
_NUMBERS = Struct(">Q")  # ms (44 bits), slot (12), length of the group (8)
_STAMP = 13  # what the script prepends: version, tier, enqueued ms


class Options(
    msgspec.Struct,
    frozen=True,
    gc=False,  # JSON has no cycles
    omit_defaults=True,
    rename={"max_attempts": "n", "timeout_s": "o", "trace": "tp", "key": "k", "batch": "b"},
):
    """What a producer may set for one job; None leaves it to the task's own options.

    trace: a W3C traceparent. key: the partition key when it was too long to be the group.
    batch: the batch that this job continues.
    """

    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=7 * 86400)] | None = None
    trace: str | None = None
    key: str | None = None
    batch: str | None = None


class Envelope(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The opaque part of a body. payload: the keyword arguments of the handler."""

    task: str
    payload: dict[str, Any]
    options: Options = Options()


class _StoredError(msgspec.Struct, omit_defaults=True):
    reason: str
    type: str = ""
    message: str = ""
    traceback: str = ""


NO_OPTIONS = Options()


_encoder = msgspec.json.Encoder(enc_hook=plain_model)
_decoder = msgspec.json.Decoder(Envelope)
_error_decoder = msgspec.json.Decoder(_StoredError)
_MAX_ERROR_TEXT = 4096
MAX_RESULT_BYTES = 1024**2  # one turn may carry hundreds of results
MAX_NESTING = 64  # levels of lists and objects; parsers have limits that depend on their stack
_SHALLOW_BYTES = 2 * MAX_NESTING  # a document this short cannot be nested deeper


def encode_tail(slot: int, group: bytes) -> bytes:
    """Return the part of the header that a producer sends: slot, length of the group, group."""
    return b"%03x%02x%s" % (slot, len(group), group)


def slot_of_tail(tail: bytes) -> int:
    """Return the slot in what a producer sends of a body."""
    return int(tail[:3], 16)


def encode_envelope(
    task: str, payload: Mapping[str, Any], options: Options, *, limit: int
) -> bytes:
    """Return the envelope as JSON. Raises InvalidInputError or PayloadTooLargeError."""
    if type(payload) is not dict and not isinstance(payload, Mapping):
        raise InvalidInputError(
            "the payload must be a mapping of the handler's arguments, not a "
            f"{type(payload).__name__}; for a single value pass {{'value': ...}} to task "
            f"{shown(task)}"
        )
    plain = payload if isinstance(payload, dict) else dict(payload)
    parts = (task, plain) if options is NO_OPTIONS else (task, plain, options)
    try:
        envelope = _encoder.encode(parts)
        # The envelope itself is a list; each level takes two characters.
        deep = len(envelope) > _SHALLOW_BYTES and is_deeper(envelope, MAX_NESTING + 1)
        odd = None if deep else find_lost(plain, envelope)
    except RecursionError:
        deep, odd, envelope = True, None, b""
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"the payload of task {shown(task)} is not JSON: {error}. Use plain values, and "
            "convert others in the producer."
        ) from None  # the error may hold the payload
    if deep:
        raise InvalidInputError(
            f"the payload of task {shown(task)} is nested deeper than {MAX_NESTING} levels, or "
            "contains itself; nothing was enqueued. Flatten it, or send it as a string."
        )
    if odd is not None:
        raise InvalidInputError(f"the payload of task {shown(task)} is not JSON: {odd}")
    if len(envelope) > limit:
        raise PayloadTooLargeError(size=len(envelope), limit=limit)
    return envelope


def refuse_lost_names(task: str, payload: Mapping[Any, Any]) -> None:
    """Raise InvalidInputError for keys of a payload of which JSON would keep only one."""
    if odd := find_lost_name(payload):
        raise InvalidInputError(f"the payload of task {shown(task)} is not JSON: {odd}")


def beginning_of(task: str) -> bytes:
    """Return how the envelope of each job of a task begins."""
    return b"[%s," % msgspec.json.encode(task)


def read_header(body: bytes) -> tuple[int, int, int, bytes, int]:
    """Return (tier, enqueued ms, slot, group, offset of the envelope) of a body."""
    enqueued_ms, group = read_arrival(body)
    return body[1] - 0x30, enqueued_ms, int(body[13:16], 16), group, HEADER_BYTES + len(group)


def read_arrival(body: bytes) -> tuple[int, bytes]:
    """Return (enqueued ms, group) of a body, after a check of its whole header.

    Raises UndecodableError.
    """
    try:
        if body[0] != LAYOUT:
            raise UndecodableError(
                f"the job has layout {body[:1]!r}; this version reads layout b'1'; upgrade this "
                "process"
            )
        (numbers,) = _NUMBERS.unpack(unhexlify(body[2:HEADER_BYTES]))
        size = numbers & 0xFF
        group = body[HEADER_BYTES : HEADER_BYTES + size]
        if not (1 <= size <= MAX_GROUP_BYTES and len(group) == size and 0x30 <= body[1] <= 0x33):
            raise ValueError("truncated")
        return numbers >> 20, group
    except (ValueError, IndexError, struct_error) as error:
        raise UndecodableError(f"the header of the job is damaged: {bytes(body[:32])!r}") from error


def read_group(body: bytes) -> bytes:
    """Return the group of a body; b'' when the header is damaged. Cheap, for the hot path."""
    try:
        return body[HEADER_BYTES : HEADER_BYTES + int(body[16:18], 16)]
    except ValueError:
        return b""


def read_stamp(body: bytes) -> bytes:
    """Return what distinguishes a body from others with the same id. Cheap."""
    return body[2:_STAMP]


def read_enqueued_ms(body: bytes) -> int:
    """Return when a body was enqueued, in ms of the server's clock; 0 when damaged."""
    try:
        return int(body[2:_STAMP], 16)
    except ValueError:
        return 0


def check_id(job_id: bytes) -> None:
    """Raise UndecodableError for an id that no producer accepts."""
    plain = job_id.isalnum() or (job_id and not job_id.translate(None, _ID_BYTES))
    if not plain or len(job_id) > MAX_ID_BYTES:
        raise UndecodableError(
            f"the id of the job, {len(job_id):,} bytes, is not 1 to {MAX_ID_BYTES} of "
            f"A-Z a-z 0-9 _ . : - ~; it begins {shown(job_id[:32])}"
        )


def decode_envelope(body: bytes) -> Envelope:
    """Return the envelope of a body. Raises UndecodableError and no other exception."""
    return decode_envelope_after(body, read_header(body)[3])


def decode_envelope_after(body: bytes, group: bytes) -> Envelope:
    """Return the envelope of a body whose header was read. Raises UndecodableError."""
    try:
        return _decoder.decode(body[HEADER_BYTES + len(group) :])
    except UNREADABLE as error:
        raise UndecodableError(f"the envelope of the job cannot be read: {error}") from error


def _refuse_unrun(value: Any) -> None:
    """Raise PermanentError for a coroutine or a generator, and close it."""
    generator = isgenerator(value) or isasyncgen(value)
    if not generator and not isawaitable(value):
        return
    if iscoroutine(value) or isgenerator(value):
        value.close()  # else Python warns that it was never awaited
    remedy = (
        "return a list"
        if generator
        else "await it in the handler; if a decorator returned it, make its wrapper `async def`"
    )
    raise PermanentError(
        f"the handler returned an object of type {type(value).__name__}, which nobody runs, so its "
        f"work was not done: {remedy}"
    )


def encode_result(value: Any) -> bytes:
    """Return a handler's result as JSON, at most MAX_RESULT_BYTES.

    Raises BadResultError when it is not serialisable or larger, and PermanentError for what is
    still to be run, as every attempt would return it.
    """
    try:
        result = _encoder.encode(value)
        deep = is_deeper(result, MAX_NESTING)
        odd = None if deep else find_lost(value, result, named=False)
    except RecursionError:
        deep, odd, result = True, None, b""
    except (TypeError, ValueError, OverflowError) as error:
        _refuse_unrun(value)
        # Without its cause, which may hold the result.
        raise BadResultError(f"the result is not JSON: {error}; return plain values") from None
    if deep:
        raise BadResultError(
            f"the result is nested deeper than {MAX_NESTING} levels, or contains itself; "
            "flatten it, or return it as a string"
        )
    if odd is not None:
        raise BadResultError(f"the result is not JSON: {odd}")
    if len(result) > MAX_RESULT_BYTES:
        raise BadResultError(
            f"the result takes {len(result):,} bytes, over the limit of {MAX_RESULT_BYTES:,}; "
            "store it elsewhere and return a reference"
        )
    return result


def decode_result(raw: bytes) -> Any:
    """Return a stored result; None when there is none. Raises UndecodableError."""
    try:
        return msgspec.json.decode(raw) if raw else None
    except UNREADABLE as error:
        raise UndecodableError(f"the stored result is not JSON: {error}") from error


def encode_error(record: ErrorRecord) -> bytes:
    """Return an error record as JSON, its texts cut to 4,096 characters in all. Never fails."""
    stored = _StoredError(
        record.reason,
        _text(record.type[:256]),
        _text(record.message[:1024]),
        _text(record.traceback[-(_MAX_ERROR_TEXT - 1280) :]),
    )
    return _encoder.encode(stored)


def _text(text: str) -> str:
    # File names that are not UTF-8 contain lone surrogates, which JSON cannot encode.
    return text.encode("utf-8", "replace").decode()


def decode_error(raw: bytes) -> ErrorRecord:
    """Return a stored error record; unreadable ones become their own message."""
    try:
        e = _error_decoder.decode(raw)
    except UNREADABLE:
        return ErrorRecord(reason="unknown", message=raw[:1024].decode("utf-8", "replace"))
    return ErrorRecord(reason=e.reason, type=e.type, message=e.message, traceback=e.traceback)
