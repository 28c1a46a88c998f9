"""freeze_batches, export_batch, adopt_batch, drop_batch: batches that move to another partition.

A page is the record, or all the rest: a script has more of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from queuepool.testing.batch import FROZEN_MS, Batch
from queuepool.testing.carrying import of_move
from queuepool.testing.data import PartitionData
from queuepool.testing.keyspace import Args

_TIMES = ("due", "created", "ended", "at")
_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Batch)


@of_move
def freeze_batches(p: PartitionData, args: Args) -> Any:
    """Let batches be neither concluded nor forgotten."""
    here = 0
    for name in args[1:]:
        b = p.batches.get(name)
        if b is not None:
            here += 1
            at = p.batches_due.get(name, 0)
            b.at = b.at if at == FROZEN_MS else at
            p.batches_due[name] = FROZEN_MS
    return here


@of_move
def export_batch(p: PartitionData, args: Args) -> Any:
    """Read a frozen batch, a page at a time."""
    b, rest = p.batches.get(args[1]), args[2] == b"r0"
    if b is None:
        return [b"", p.now, b"", b"0", []]
    page = b if rest else replace(b, bits=set(), failed={}, results={})
    kind, following = (b"r", b"") if rest else (b"b", b"r0")
    return [following, p.now, kind, b"0", [_encoder.encode(page)]]


@of_move
def adopt_batch(p: PartitionData, args: Args) -> Any:
    """Take over a page of a batch; it is frozen until `thaw`."""
    _version, name, told_ms, kind, _at, page = args
    b, known, shift = _decoder.decode(page), p.batches.get(name), p.now - int(told_ms)
    if known is not None and kind == b"b":
        b = replace(b, bits=known.bits, failed=known.failed, results=known.results)
    elif known is not None:
        b.bits |= known.bits
        b.failed, b.results = known.failed | b.failed, known.results | b.results
    for field in _TIMES if abs(shift) >= 1000 else ():
        if getattr(b, field) > 0:
            setattr(b, field, max(1, getattr(b, field) + shift))
    p.batches[name], p.batches_due[name] = b, FROZEN_MS
    return 1


@of_move
def drop_batch(p: PartitionData, args: Args) -> Any:
    """Delete a frozen batch that another partition has adopted."""
    p.batches.pop(args[1], None)
    p.batches_due.pop(args[1], None)
    return 1
