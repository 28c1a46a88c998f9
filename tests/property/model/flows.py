"""Rules of batches: opened, enqueued in part, told and told again, concluded, cancelled."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from queuepool.models.flows import BatchState, EndOf
from queuepool.verbs import Verb
from queuepool.verbs.flows import telling
from queuepool.verbs.flows import verbs as flow
from queuepool.verbs.producer import verbs as produce
from tests.property.model import batching, enqueueing
from tests.property.model.batching import DEADLINE_S, KEEP_S, NEVER
from tests.property.model.gates import GatesMachine
from tests.property.model.machine import delays, tiers, who
from tests.property.model.process import FENCED

BATCHES = {b"AAbatchnumber%d" % n: jobs for n, jobs in enumerate((1, 2, 4))}
ENDS = {
    b"d": EndOf.DONE,
    b"x": EndOf.DEAD,
    b"c": EndOf.CANCELLED,
    b"e": EndOf.EXPIRED,
    b"v": EndOf.EVICTED,
    b"g": EndOf.DISCARDED,
}
batches = st.sampled_from(sorted(BATCHES))


def ids_of(name: bytes) -> list[bytes]:
    """Return the ids of the jobs of a batch."""
    return [b"CC%s~%d" % (name, number) for number in range(BATCHES[name])]


class BatchesMachine(GatesMachine):
    """Producers of batches, and whoever believes to own them."""

    @rule(
        name=batches,
        how=st.sampled_from(("fail", "partial", "wait")),
        tier=tiers,
        of_then=tiers,
        delay=delays,
        expires=st.sampled_from((0, 0, 1)),
        calls=st.sampled_from((4, 4, 4, 1, 2, 3)),
    )
    def enqueue_batch(
        self, name: bytes, how: Any, tier: int, of_then: int, delay: int, expires: int, calls: int
    ) -> None:
        """Enqueue a batch, perhaps again; the producer may crash after any of its calls."""
        text = name.decode()
        verb = flow.open_batch(
            text,
            text,
            on_failure=how,
            on_deadline="fail" if how == "fail" else "partial",
            deadline_ms=DEADLINE_S * 1000,
            keep_ms=KEEP_S * 1000,
        )
        opened = self.run(verb)
        numbers = {n for n in range(BATCHES[name]) if n in opened.ended}
        expected = batching.open_batch(self.state, name, how)
        assert (opened.is_new, opened.state, numbers) == expected
        if opened.state is not BatchState.OPEN or calls < 2:
            return
        self.enqueue([name], of_then, NEVER, 1000)
        if calls > 2:
            self.enqueue(ids_of(name), tier, delay, 1000, expires=expires)
        if calls > 3:
            self.seal(name)

    def seal(self, name: bytes) -> None:
        jobs = BATCHES[name]
        assert self.run(flow.seal_batch(name.decode(), jobs)) == batching.seal(
            self.state, name, jobs
        )

    @rule(back=who, most=st.sampled_from((200, 200, 1, 3)), forget=st.booleans())
    def tell_batches(self, back: int, most: int, forget: bool) -> None:
        """Tell the first of what is noted; unless it is forgotten, it will be told again."""
        life = self.life(back)

        def noted(found: telling.Untold) -> telling.Untold:
            stored = [(note.job_id.encode(), note.end) for note in found.notes]
            batching.put_in_order(self.state, stored)
            return found

        found = self.as_owner(life, telling.untold(life.ownership), noted, draining=False)
        if found == FENCED or not found.notes:
            return
        some = found.notes[:most]
        news = self.run(told(some))
        assert news == batching.hear(self.state, self.state.told[:most]), f"I13: {news} were news"
        if forget:
            entries = [note.entry for note in some]
            verb = telling.untold(life.ownership, told=entries)
            del self.state.told[: len(some)]
            self.as_owner(life, verb, noted, draining=False)

    @rule(back=who)
    def tend_batches(self, back: int) -> None:
        life = self.life(back)

        def expect(reply: telling.Tended) -> telling.Tended:
            counts = batching.tend(self.state, self.space.hash("er"))
            return telling.Tended(*counts, reply.next_due_ms)

        self.as_owner(life, telling.tend_batches(life.ownership), expect, draining=False)

    @rule(back=who, name=batches)
    def run_batch(self, back: int, name: bytes) -> None:
        """Let its jobs run, and tell of them: a walk alone rarely gets that far."""
        self.enqueue_batch(name, "partial", 2, 0, 0, 0, 4)
        self.claim(back, 200, 0, (1, 1, 1, 1))
        self.finish_all(back)
        for forget in (False, True):
            self.tell_batches(back, 200, forget=forget)
        self.look_at_batch(name)
        self.tend_batches(back)
        self.look_at_batch(name)
        self.promote(back)

    @rule(names=st.sets(batches, min_size=1), calls=st.sampled_from((3, 3, 1, 2)))
    def cancel_batches(self, names: set[bytes], calls: int) -> None:
        """Cancel batches, perhaps not to the end."""
        for name in sorted(names):
            was, _job_id = self.run(flow.cancel_batch(name.decode()))
            assert was == batching.cancel(self.state, name)
        for name in sorted(names) if calls > 1 else ():
            found = self.run(produce.cancel(name.decode()))
            assert found == enqueueing.cancel(self.state, name)
        if calls > 2:
            verb = flow.cancel_children([name.decode() for name in sorted(names)], b"0", 10_000)
            assert self.run(verb) == (b"0", *batching.cancel_jobs(self.state, names))

    @rule(name=batches)
    @precondition(lambda self: self.state.batches)
    def look_at_batch(self, name: bytes) -> None:
        """I13: a batch knows each job that it heard of, with its result."""
        status = self.run(flow.batch(name.decode()))
        known = self.state.batches.get(name)
        if known is None:
            assert status.state is BatchState.UNKNOWN
            return
        said = (status.state, status.sealed)
        assert said == (known.state, known.sealed is not None), f"I13: {said}, not {known}"
        counts = known.count(b"d"), known.count(b"x"), known.count(b"c", b"e", b"v", b"g")
        assert (status.done, status.dead, status.lost) == counts, f"I13: {status}, not {known}"
        results = self.run(flow.batch_results(name.decode(), 0)).found
        for result in results:
            end = ENDS.get(known.ends.get(result.number, b""), EndOf.OPEN)
            expected = (end, 1 if end is EndOf.DONE else None)
            assert (result.end, result.result) == expected, f"I13: {result}, not {expected}"
        assert len(results) == max(known.sealed or 0, known.top)


def told(notes: tuple[telling.Note, ...]) -> Verb[int]:
    """Return the call that tells batches."""
    ends = []
    for note in notes:
        name, _, number = note.job_id[2:].partition("~")
        ends.append((name, int(number), note.end, note.stamp, note.text))
    return telling.note_ends(ends)
