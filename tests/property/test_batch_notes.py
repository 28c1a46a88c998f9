"""A batch counts what is true, whatever is repeated, and in the end in whatever order it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from queuepool.models.flows import EndOf
from queuepool.protocol.keys import Keyspace
from queuepool.testing import FakeClock, MemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow

BATCH = "AAbbbbbbbbbbbb"
Note = tuple[str, int, bytes, bytes, bytes]
_LAST = {
    b"d": EndOf.DONE,
    b"x": EndOf.DEAD,
    b"r": EndOf.OPEN,
    b"g": EndOf.DISCARDED,
    b"v": EndOf.EVICTED,
    b"c": EndOf.CANCELLED,
}


@st.composite
def histories(draw: st.DrawFn) -> list[Note]:
    """The ends of up to 5 jobs as a partition has them: deaths, returns, and last ends."""
    told: list[list[Note]] = []
    for number in range(draw(st.integers(1, 5))):
        notes, stamp = list[Note](), draw(st.integers(1, 50))
        for _ in range(draw(st.integers(0, 3))):
            notes.append((BATCH, number, b"x", b"%011x" % stamp, b"{}"))
            stamp += draw(st.integers(2, 9))
            notes.append((BATCH, number, b"r", b"%011x" % stamp, b""))
            stamp += draw(st.integers(0, 1))  # an edit adds one
        last = draw(st.sampled_from([b"", b"d", b"x", b"xg", b"xv", b"c"]))
        notes += [(BATCH, number, bytes([k]), b"%011x" % stamp, b"1") for k in last]
        told.append(notes)
    order = draw(st.permutations([n for n, notes in enumerate(told) for _ in notes]))
    return [told[number].pop(0) for number in order]


def open_batch(jobs: int) -> Callable[[Verb[Any]], Any]:
    """Define a batch; returns what runs verbs where it is."""
    server, key = MemoryServer(FakeClock()), Keyspace().partition(0)

    def run(verb: Verb[Any]) -> Any:
        [reply] = server.run(key, [verb])
        return verb.read(reply)

    ways = {"on_failure": "wait", "on_deadline": "partial"}
    run(flow.open_batch(BATCH, BATCH, deadline_ms=10**9, keep_ms=1, **ways))  # type: ignore[arg-type]
    run(flow.seal_batch(BATCH, jobs))
    return run


def check(run: Callable[[Verb[Any]], Any], jobs: int, history: list[Note]) -> None:
    """Compare what is known with what has happened."""
    now = {note[1]: note[2] for note in history}
    found = run(flow.batch_results(BATCH, 0))
    ends = [_LAST[now[n]] if n in now else EndOf.OPEN for n in range(jobs)]
    assert [each.end for each in found.found] == ends
    status = run(flow.batch(BATCH))
    counts = Counter(ends)
    lost = counts[EndOf.DISCARDED] + counts[EndOf.EVICTED] + counts[EndOf.CANCELLED]
    assert (status.done, status.dead, status.lost) == (
        counts[EndOf.DONE],
        counts[EndOf.DEAD],
        lost,
    )


@given(histories(), st.data())
def test_counts_are_true_after_any_repetitions(ends_told: list[Note], data: st.DataObject) -> None:
    jobs = 1 + max((note[1] for note in ends_told), default=0)
    run = open_batch(jobs)
    told = deleted = 0
    while deleted < len(ends_told):
        until = data.draw(st.integers(deleted + 1, len(ends_told)))
        run(telling.note_ends(ends_told[deleted:until]))
        told = max(told, until)
        if data.draw(st.booleans()) and until == told:  # the owner heard the answer
            deleted = until
        check(run, jobs, ends_told[:told])


@given(histories(), st.data())
def test_counts_are_true_in_the_end_in_whatever_order_ends_are_told(
    ends_told: list[Note], data: st.DataObject
) -> None:
    jobs = 1 + max((note[1] for note in ends_told), default=0)
    run = open_batch(jobs)
    for note in data.draw(st.permutations(ends_told)):
        run(telling.note_ends([note]))
    check(run, jobs, ends_told)
