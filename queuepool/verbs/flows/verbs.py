"""Verbs of batches: define, grow, read and cancel them. Pure.

All but `cancel_children` are sent to the home of the batch: the partition of its continuation, in
the pool of that. They name the version of the route by which they go (`by_route`), and raise
MovedError when the home knows a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct

from queuepool.errors.escaping import stored_text
from queuepool.models.flows import (
    ENDS,
    BatchLine,
    BatchResult,
    BatchState,
    BatchStatus,
    EndOf,
    OnDeadline,
    OnFailure,
)
from queuepool.protocol import codec
from queuepool.protocol.batches import Ends
from queuepool.protocol.graphs import read_steps
from queuepool.verbs import Argument, Verb, fields, number
from queuepool.verbs.routed import here

T = TypeVar("T")

RESULT_BYTES = 1024**2  # of one page of results
_STATES = frozenset(map(str, BatchState))
_BY_NAME: dict[str, bytes] = {"fail": b"f", "partial": b"p", "wait": b"w"}
_BY_LETTER: dict[bytes, Any] = {letter: name for name, letter in _BY_NAME.items()}


class Opened(Struct, frozen=True):
    """A batch that was defined, now or by an earlier call. state: whether it has concluded.

    ended: which of its jobs have, if it was there and is open. jobs: with how many it was sealed
    then, before jobs of it added others; None if it was not.
    """

    is_new: bool = False
    state: BatchState = BatchState.OPEN
    ended: Ends = Ends()
    jobs: int | None = None


class Grown(Struct, frozen=True):
    """Numbers reserved for jobs. refused: why none are: OPEN (not sealed yet), FULL, or OVER.

    state: of the batch, if it is over. ended: which of these jobs have, if the call is a repeat.
    """

    first: int = 0
    count: int = 0
    refused: str = ""
    state: BatchState = BatchState.OPEN
    ended: Ends = Ends()


class Results(Struct, frozen=True):
    """A page of results. next_number: where the next page begins.

    steps: instead of results, of what a job of a step waits for: the steps, and their batches.
    """

    state: BatchState
    total: int
    next_number: int
    found: tuple[BatchResult, ...]
    steps: tuple[tuple[str, str], ...] = ()


def open_batch(
    batch: str,
    job_id: str,
    *,
    on_failure: OnFailure,
    on_deadline: OnDeadline,
    deadline_ms: int,
    keep_ms: int,
    called: str = "",
    within: str = "",
    part: str = "",
    tells: Sequence[str] = (),
    graph: bytes = b"",
) -> Verb[Opened]:
    """Define a batch, unless it is there.

    part: of a flow: "f" all of it, "s" a step, "g" what a job of a step waits for. tells: what
    hears of its outcome: `<batch>~<number there>`. graph: see queuepool.protocol.graphs.
    """
    how = (_BY_NAME[on_failure], _BY_NAME[on_deadline], deadline_ms, keep_ms)

    def read(reply: Any) -> Opened:
        reply = here(reply)
        if isinstance(reply, list):
            jobs = reply[2] if len(reply) > 2 else b""
            return Opened(ended=Ends(bytes(reply[1])), jobs=int(jobs) if jobs else None)
        return Opened(is_new=True) if isinstance(reply, int) else Opened(state=_state(reply))

    of_flow = (part, " ".join(tells), graph) if part else ()
    return Verb("open_batch", [batch, "", job_id, *how, called[:128], within, *of_flow], read)


def seal_batch(batch: str, jobs: int) -> Verb[BatchState | int]:
    """Say how many jobs a batch has; returns 1, 0 if it was so, -1 if it had another number.

    Or what the batch is, if it is not open.
    """
    return Verb(
        "seal_batch", [batch, "", jobs], lambda r: r if isinstance(r, int) else _state(here(r))
    )


def grow_batch(batch: str, call: str, jobs: int, *, inner: str = "") -> Verb[Grown]:
    """Reserve numbers for jobs; the same call is answered the same each time."""

    def read(reply: Any) -> Grown:
        if here(reply)[0] == b"OK":
            first = int(reply[1])
            bits = bytes(reply[3]) if len(reply) > 3 else b""
            ended = Ends(bits, first - first % 8) if bits else Ends()
            return Grown(first, int(reply[2]), ended=ended)
        state = _state(reply[1]) if reply[0] == b"OVER" else BatchState.OPEN
        return Grown(refused=reply[0].decode(), state=state)

    return Verb("grow_batch", [batch, "", call, jobs, inner], read)


def batch(name: str) -> Verb[BatchStatus]:
    """Read what a batch is."""

    def read(reply: Any) -> BatchStatus:
        _now_ms, flat, inner, _left = here(reply)
        f = fields(flat)
        return BatchStatus(
            name=name,
            state=_state(f.get("state", b"")),
            called=stored_text(f.get("called", b"")),
            job_id=stored_text(f.get("then", b"")),
            on_failure=_BY_LETTER.get(f.get("how", b""), "fail"),
            on_deadline=_BY_LETTER.get(f.get("late", b""), "fail"),
            total=number(f.get("total")),
            done=number(f.get("done")),
            dead=number(f.get("dead")),
            lost=number(f.get("lost")),
            sealed=f.get("sealed") == b"1",
            by_deadline=f.get("why") == b"deadline",
            deadline_ms=number(f.get("due")),
            created_ms=number(f.get("created")),
            ended_ms=number(f.get("ended")) or None,
            within=stored_text(f.get("within", b"")) or None,
            inner=tuple(sorted(stored_text(each) for each in inner)),
            part=stored_text(f.get("part", b"")),
            graph=bytes(f.get("graph", b"")),
        )

    return Verb("batch", [name, ""], read)


def inner_batches(name: str, cursor: bytes = b"0") -> Verb[tuple[tuple[str, ...], bytes]]:
    """List batches that are in a batch, a page; returns them and the next cursor, 0 at the end.

    A batch may be in several pages.
    """

    def read(reply: Any) -> tuple[tuple[str, ...], bytes]:
        _now_ms, _flat, inner, left = here(reply)
        return tuple(stored_text(each) for each in inner), bytes(left)

    return Verb("batch", [name, "", cursor], read)


def batches(offset: int, count: int) -> Verb[tuple[int, tuple[BatchLine, ...]]]:
    """List batches of a partition; returns how many there are, and some."""

    def read(reply: Any) -> tuple[int, tuple[BatchLine, ...]]:
        total, flat = reply
        lines = (
            BatchLine(
                stored_text(name), _state(f[0]), stored_text(f[1]),
                number(f[2]), number(f[3]), number(f[4]), number(f[5]), number(f[6]), number(f[7]),
                stored_text(f[8]), number(f[9]),
            )
            for name, f in zip(flat[::2], flat[1::2], strict=True)
        )  # fmt: skip
        return int(total), tuple(lines)

    return Verb("batches", [offset, count], read)


def batch_results(name: str, first: int, max_bytes: int = RESULT_BYTES) -> Verb[Results]:
    """Read the outcome of at most 128 jobs, from this number on."""

    def read(reply: Any) -> Results:
        state, total, following = here(reply)[:3]
        if reply[3:4] == [b"s"]:
            return Results(_state(state), int(total), int(following), (), read_steps(reply[4]))
        ends = zip(reply[3::2], reply[4::2], strict=True)
        found = (_result(first + k, kind, text) for k, (kind, text) in enumerate(ends))
        return Results(_state(state), int(total), int(following), tuple(found))

    return Verb("batch_results", [name, "", first, max_bytes], read)


def cancel_batch(name: str) -> Verb[tuple[BatchState, str]]:
    """Conclude a batch as cancelled; returns what it was, and the id of its continuation."""
    return Verb("cancel_batch", [name, ""], lambda r: (_state(here(r)[0]), stored_text(r[1])))


def cancel_children(
    names: Sequence[str], cursor: bytes, at_once: int = 200
) -> Verb[tuple[bytes, int, int, int]]:
    """Cancel jobs of batches in a partition, of a part of those stored there.

    Returns (next cursor, waiting jobs cancelled, running jobs that were not asked to stop before,
    jobs that stay since they are being copied to another partition). Begin with b"0", go on until
    the cursor is b"0".
    """
    args: list[Argument] = [cursor, at_once, *names]
    return Verb("cancel_children", args, lambda r: (bytes(r[0]), int(r[1]), int(r[2]), int(r[3])))


def by_route(verb: Verb[T], version: int) -> Verb[T]:
    """Return a call for a batch by a version of the route; without one it is by the first.

    Of this module, or `note_ends`.
    """
    at = 0 if verb.script == "note_ends" else 1
    return Verb(verb.script, [*verb.args[:at], version, *verb.args[at + 1 :]], verb.parse)


def _state(raw: bytes) -> BatchState:
    text = raw.decode("ascii", "replace")
    return BatchState(text) if text in _STATES else BatchState.UNKNOWN


def _result(place: int, kind: bytes, text: bytes) -> BatchResult:
    end = ENDS.get(kind, EndOf.OPEN)
    if end is EndOf.DONE:
        return BatchResult(place, end, codec.decode_result(text))
    error = codec.decode_error(text) if end is EndOf.DEAD and text else None
    return BatchResult(place, end, error=error)
