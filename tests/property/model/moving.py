"""Slots that move between two partitions of one server, each with its own model; and all jobs.

A leader makes its calls one by one, among all other rules; it may die between any two, or believe
to lead still. After each rule both partitions hold what their models say, and together they keep
M1 to M6 of docs/adr/0016-moves-behind-a-version.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.property.model import invariants
from tests.property.model.leading import Leader, Step
from tests.property.model.machine import ERROR
from tests.property.model.names import GROUPS
from tests.property.model.pair import SLOTS, PairMachine
from tests.property.model.routes import Record

MOVED = "moved"
_LATE = 30

calls = st.sampled_from((5, 1, 2, 3, 8, 13, 25, 40))
goals = st.fixed_dictionaries({slot: st.integers(0, 1) for slot in SLOTS})


class MovesMachine(PairMachine):
    """Two partitions, and who leads, or believes to."""

    def __init__(self) -> None:
        super().__init__()
        self.leader: Leader | None = None
        self.former: Leader | None = None
        self.sent: list[Step] = []

    @rule(steps=st.sampled_from((1, 2)))
    def pass_time(self, steps: int) -> None:
        """Let time pass. What leaders had read is too old for the model, so they begin again."""
        super().pass_time(steps)
        self.leader = self.former = None
        self.sent = [step for step in self.sent if not step.page.jobs and step.page.totals is None]

    def change(self, after: Record) -> None:
        """Store a record; cursors of cancellations are of the places that a record named."""
        if after.homes != self.record.homes:
            self.cursors.clear()
            self.there["cursors"].clear()
        self.record = after
        self.views.append(after)

    def ask(self, goal: dict[int, int]) -> None:
        asked = {"stage": "asked", "goal": goal, "back": dict(self.record.homes)}
        self.change(self.record.changed(**asked))

    @rule(goal=goals, calls=calls, closed=st.sampled_from((True, True, False)))
    def abort(self, goal: dict[int, int], calls: int, closed: bool) -> None:
        """Let slots go back. closed: after some calls while they are closed, if they ever are."""
        if closed:
            for _ in range(60):
                if not self.record.closed:
                    self.lead(goal, 1, 0, 3)
            self.lead(goal, calls % 13, 0, 3)
        if self.record.stage == "asked":
            self.change(self.record.changed(stage="ended"))
        elif self.record.stage == "moving":
            self.change(self.record.changed(stage="aborting", goal=self.record.back))

    @rule(goal=goals, calls=calls, every=st.sampled_from((0, 1, 3)), most=st.sampled_from((3, 1)))
    def lead(self, goal: dict[int, int], calls: int, every: int, most: int) -> None:
        """Make calls as the leader, which may be a new one. every: so many replies get lost."""
        if not self.record.under_way:
            self.ask(goal)
        self.leader = self.leader or Leader((0, 1), lambda: self.record, most)
        while calls > 0 and self.leader is not None and self.leader.step is not None:
            calls -= not self.leader.step.only_looks
            if every and calls % every == 0 and self.leader.step.verb is not None:
                self.make(self.leader.step)
            self.leader = self.led(self.leader)

    @rule(goal=goals, calls=calls, every=st.sampled_from((0, 0, 1)))
    def lead_far(self, goal: dict[int, int], calls: int, every: int) -> None:
        self.lead(goal, 50 + calls, every, 3)

    @rule(goal=goals, calls=calls, executed=st.booleans())
    def lead_and_die(self, goal: dict[int, int], calls: int, executed: bool) -> None:
        """The leader dies, or is believed to. executed: its last call was."""
        self.lead(goal, calls, 0, 3)
        leader, self.leader = self.leader, None
        self.former = leader
        if executed and leader is not None and leader.step is not None:
            self.former = self.led(leader)

    @rule(calls=calls)
    @precondition(lambda self: self.former is not None)
    def lead_though_replaced(self, calls: int) -> None:
        for _ in range(calls):
            if self.former is not None:
                self.former = self.led(self.former)

    @rule(goal=goals, later=st.booleans(), cut=st.booleans(), keep=st.sampled_from((0, 4)))
    def end_what_is_copied(self, goal: dict[int, int], later: bool, cut: bool, keep: int) -> None:
        """M2: between `adopt` and `forget`, owners do whatever else ends or changes jobs."""
        self.put_jobs_everywhere()
        for group in GROUPS if cut else ():
            self.cancel_group_a_step(group)
        for _ in range(60):
            if self.leader is not None and self.leader.has_copied:
                break
            self.lead(goal, 1, 0, 3)
        step = self.leader.step if self.leader is not None else None
        if later:
            self.pass_time(1)
        self.enqueue_new(8, 2, 0)
        self.every_job_is_in_one_partition()
        for place in (0, 1):
            self.turn_to(place)
            self.rouse(0, ["new", "other"])
            self.promote(0)
            self.finish_strays(self.life(0), list(step.page.jobs if step is not None else ())[:3])
            self.claim(0, 3, 0, (6, 3, 2, 1))
            self.bury(0, [0, 1], keep, 1500)

    def put_jobs_everywhere(self) -> None:
        """Let there be dead jobs, delayed ones, and some set aside; none that runs."""
        self.enqueue_new(12, 2, 1)
        self.enqueue_new(12, 2, 0)
        self.every_job_is_in_one_partition()  # before any ends
        for place in (0, 1):
            self.turn_to(place)
            self.claim(0, 25, 0, (6, 3, 2, 1))
            self.bury(0, [0, 1, 2], 1000, 10**6)
            self.retry(0, [3, 4, 5], 1, "new", ERROR)
            self.finish_ids(self.life(0), list(reversed(self.life(0).bodies))[6:31])

    @rule(n=st.integers(0, _LATE - 1), some=st.sampled_from((1, 3, _LATE)))
    @precondition(lambda self: self.sent)
    def deliver_late(self, n: int, some: int) -> None:
        """Calls of leaders arrive once more, the latest ones last."""
        first = max(0, len(self.sent) - 1 - n)
        for step in self.sent[first : first + some]:
            self.make(step)

    def led(self, leader: Leader) -> Leader | None:
        """Make the next call of a leader; return it, unless it was refused or has nothing to do."""
        if leader.step is None:
            return None
        reply = self.make(leader.step)
        if leader.step.verb is not None and not leader.step.only_looks:
            self.sent = [*self.sent[1 - _LATE :], replace(leader.step)]
        if reply is MOVED:
            return None
        leader.done(reply)
        return leader

    def make(self, step: Step) -> Any:
        """Do a step; it does what the model says, or is refused as one of another version."""
        if step.verb is None or step.expect is None:
            if step.before != self.record or step.after is None:
                return MOVED
            self.change(step.after)
            return True
        self.turn_to(step.place)
        if step.version not in (None, self.state.route):
            assert self.refused(step.verb), f"M6: {step.verb.script} by {step.version} was accepted"
            return MOVED
        reply = self.run(step.verb)
        promised = step.expect(self.state, self.space, reply)
        assert reply == promised, f"{step.verb.script} returned {reply}, not {promised}"
        return reply

    # What must hold

    @invariant()
    def nothing_impossible_is_stored(self) -> None:
        for _ in range(2):
            self.turn_to(1 - self.at)
            invariants.check_laws(self.space, self.state.came)
            invariants.check_same(self.space, self.state)

    @invariant()
    def every_job_is_in_one_partition(self) -> None:
        """M1: or in two, frozen in both."""
        births = Counter(job.birth for s in self.states() for job in s.jobs.values())
        for s in self.states():
            for job_id, job in s.jobs.items():
                frozen = s.groups[job.group].moving is not None
                assert births[job.birth] == 1 or frozen, f"M1: {job_id!r} is in both partitions"
        self.ledger.check(self.states(), self.on_their_way())
