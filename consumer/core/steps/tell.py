"""Tells batches how their jobs ended, and concludes those that have their home here. Pure.

    ends --a page--> a call for each batch, beside the turns --answered--> deleted
                                                              `--no answer--> tried again later

Invariants: an entry is deleted only once the home of its batch has noted it, so it is told at least
once. One page is under way at a time, and each page goes on where the last one ended. A home that
did not answer is told nothing more until the next pass, so ends of one job are told in their order,
and it keeps no other one waiting. When the end is reached and some are left, the next pass begins
after a pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from consumer.core.remote_call import RemoteCall, ToSlot
from consumer.core.steps.step import Step
from queuepool.errors import QueuePoolError
from queuepool.protocol.batches import home_of_batch, membership_of
from queuepool.verbs.flows import telling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from consumer.core.state import State
    from consumer.core.turn import Turn
    from queuepool.servers import Reply
    from queuepool.verbs import Verb

Home: TypeAlias = tuple[int, str]  # the slot of a batch, and its pool
LOOK_EVERY_S = 15.0  # a token that tells of an end, or of a batch, may be lost
_LOST_S = 30.0  # a call that nobody answers
_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 5.0


class Tell(Step):
    """State.untold_s and State.batches_s say when to look at ends, and at batches."""

    brings_work = True

    def __init__(self, state: State) -> None:
        self._state = state
        self._after = b""
        self._told: list[bytes] = []
        self._sent = 0  # of those, in this turn
        self._waiting: dict[tuple[bytes, ...], Home] = {}
        self._away: set[Home] = set()  # in this pass
        self._calls: list[RemoteCall] = []
        self._asked_s = 0.0
        self._pause_s = _PAUSE_S
        self._was_overdue = state.overdue

    def due_s(self, now_s: float) -> float:
        state = self._state
        look_s = self._asked_s + _LOST_S if self._waiting else state.untold_s
        return min(look_s, state.batches_s)

    def verbs(self, turn: Turn) -> Sequence[Verb[Any]]:
        state = self._state
        found: list[Verb[Any]] = []
        if self._waiting and turn.now_s >= self._asked_s + _LOST_S:
            self._away |= set(self._waiting.values())
            self._waiting.clear()
        if not self._waiting and turn.now_s >= state.untold_s:
            self._sent = len(self._told)
            found.append(telling.untold(state.ownership, self._after, self._told))
        if turn.now_s >= state.batches_s:
            found.append(telling.tend_batches(state.ownership))
        return found

    def on_reply(self, reply: Any, turn: Turn) -> None:
        if isinstance(reply, telling.Untold):
            self._on_page(reply, turn.replied_s)
            return
        state, due_ms = self._state, reply.next_due_ms
        state.batches_s = turn.replied_s + LOOK_EVERY_S
        state.overdue = state.overdue and due_ms == 0
        if due_ms is not None:
            state.batches_s = min(state.batches_s, turn.replied_s + due_ms / 1000)
        if reply.fired:
            state.promote_s = turn.replied_s
        if reply.failed:  # the continuation may be a job of another batch
            state.untold_s = turn.replied_s

    def on_failure(self, turn: Turn, now_s: float) -> None:
        """Let delayed jobs go: they must not wait for what a server refuses."""
        self._was_overdue, self._state.overdue = self._state.overdue, False

    def on_no_reply(self, turn: Turn, now_s: float) -> None:
        """Let them wait on."""
        self._state.overdue = self._was_overdue

    @property
    def busy(self) -> bool:
        """Return whether ends are on their way, or not deleted yet."""
        return bool(self._waiting or self._told)

    def take_calls(self) -> list[RemoteCall]:
        """Return what to tell the homes of batches."""
        calls, self._calls = self._calls, []
        return calls

    def on_answer(self, call: RemoteCall, reply: Reply, now_s: float) -> None:
        """Learn whether a home has noted what it was told."""
        home = self._waiting.pop(call.entries, None)
        if home is None:
            return  # given up
        try:
            call.verb.read(reply)
        except QueuePoolError:
            self._away.add(home)  # passed over: they stay
        else:
            self._told += call.entries
            self._pause_s = _PAUSE_S
        if not self._waiting:
            self._state.untold_s = now_s

    def _on_page(self, page: telling.Untold, now_s: float) -> None:
        del self._told[: self._sent]
        ends: dict[str, list[tuple[str, int, bytes, bytes, bytes]]] = {}
        entries: dict[str, list[bytes]] = {}
        for note in page.notes:
            job = membership_of(note.job_id)
            if job is None:
                self._told.append(note.entry)  # not ours
                continue
            if home_of_batch(job.batch) in self._away:
                continue
            end = (job.batch, job.number, note.end, note.stamp, note.text)
            ends.setdefault(job.batch, []).append(end)
            entries.setdefault(job.batch, []).append(note.entry)
        for batch, some in ends.items():
            slot, pool = home_of_batch(batch)
            told = tuple(entries[batch])
            call = RemoteCall(ToSlot(slot), telling.note_ends(some), pool, entries=told)
            self._waiting[told] = slot, pool
            self._calls.append(call)
        self._asked_s, state = now_s, self._state
        if page.notes:
            self._after = page.notes[-1].entry
            state.untold_s = now_s
            return
        again = bool(self._after) and page.left > 0
        self._after = b""
        self._away.clear()
        state.untold_s = now_s + (self._pause_s if page.left else LOOK_EVERY_S)
        if again:
            self._pause_s = min(_LONGEST_PAUSE_S, 2 * self._pause_s)
