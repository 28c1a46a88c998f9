"""What a leader does in a cycle: announce itself, plan, send, checkpoint, record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence

from coordinator.core import checkpoint
from coordinator.core.events import CommandFailed, CommandRefused, CommandSent, Decided, RecordsLost
from coordinator.core.model import Observation, PartitionDecision, ScaleCommand
from coordinator.core.planner import CyclePlan, PartitionMemory, Planner, command_number
from coordinator.core.replay.cycle import Cycle
from coordinator.decisions.ledger import DecisionBook, DecisionRecord
from coordinator.decisions.outcomes import Outcomes
from coordinator.decisions.stored import Unsent, encode, record_of
from coordinator.loop.fleet import Call, Fleet
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.servers import Reply
from queuepool.telemetry.events import Listener, ignore
from queuepool.verbs.leader import verbs as lead


class Term:
    """One leadership, from its epoch to its end. Used only by the loop's thread.

    may_act is checked right before each write: a lease can end while a server is slow.
    """

    def __init__(
        self,
        epoch: int,
        *,
        planner: Planner,
        fleet: Fleet,
        book: DecisionBook,
        may_act: Callable[[], bool],
        checkpoint_interval_s: float,
        publish: Callable[[Cycle], None] = ignore,
        emit: Listener = ignore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.epoch, self.cycle = epoch, 0
        self.memories: Mapping[int, PartitionMemory] = {}
        self.decisions: Mapping[int, PartitionDecision] = {}
        self.unsent: dict[int, Unsent] = {}  # partition -> why its last command may not be there
        self._planning = planner.begin(self.memories, {})
        self._fleet, self._book = fleet, book
        self._may_act, self._emit, self._clock = may_act, emit, clock
        self._publish = publish
        self._acted: Cycle | None = None
        self._checkpoint_interval_s = checkpoint_interval_s
        self._announced: set[int] = set()
        self._checkpointed: set[int] = set()
        self._outcomes = Outcomes()

    def begin(self, planner: Planner, manual: Mapping[int, int], *, now_ms: int) -> None:
        """Begin a cycle by this planner; memories stay. Does not raise if a server is down."""
        self.cycle += 1
        self._planning = planner.begin(self.memories, manual, now_ms=now_ms)
        self._fleet.follow()
        self._announce()

    def consider(self, observations: Sequence[Observation]) -> None:
        """Consider some of the partitions; nothing is decided yet."""
        # Until the older leader is locked out there, nothing may be decided.
        announced = self._announced
        self._planning.consider([seen for seen in observations if seen.partition in announced])

    def act(self, finished_per_s: Mapping[int, float]) -> None:
        """Do all that follows from what was considered. Does not raise if a server is down."""
        cycle, plan = self._plan()
        ours, now_ms = cycle.observations, cycle.now_ms
        self._write(plan, ours)
        times_ms = {seen.partition: seen.state.observed_ms for seen in ours if seen.state}
        for decision in plan.notable:
            self._emit(Decided(decision))
        seen_at = {
            one.partition: (
                times_ms.get(one.partition, now_ms),
                round(finished_per_s.get(one.partition, 0.0), 3),
            )
            for one in plan.decisions
        }
        records = [self._record(one, *seen_at[one.partition]) for one in plan.notable]
        texts = [(one.partition, encode(one)) for one in records]
        texts += self._outcomes.texts(self.epoch, self.cycle, plan, seen_at)
        if texts and self._may_act():
            lost = self._book.write_texts(self.epoch, texts)
            if lost:
                self._emit(RecordsLost(lost))
        self._acted = cycle

    def hand_over(self) -> None:
        """Show the last cycle to those who follow: once all is done that they could delay."""
        if self._acted is not None:
            self._publish(self._acted)
            self._acted = None
        self._planning.forget()

    def _plan(self) -> tuple[Cycle, CyclePlan]:
        planning, now_s = self._planning, self._clock()
        plan = planning.plan(self.epoch, now_s)
        cycle = Cycle(
            planner=planning.planner,
            epoch=self.epoch,
            memories=planning.memories,
            observations=planning.observations,
            manual=planning.manual,
            now_s=now_s,
            now_ms=planning.now_ms,
            plan=plan,
        )
        self.memories = plan.memories
        self.decisions = {one.partition: one for one in plan.decisions}
        return cycle, plan

    def _announce(self) -> None:
        numbers = [n for n in self._fleet.partitions if n not in self._announced]
        if not numbers or not self._may_act():
            return
        noop = ScaleCommand(partition=0, sequence=0, type="NOOP", target=0, reason="a new leader")
        verbs = [
            _command(self.epoch, noop, n, ttl_s=self._planning.planner.command_ttl_s)
            for n in numbers
        ]
        for call, reply in zip(verbs, self._fleet.run(verbs), strict=True):
            try:
                accepted, newest = call[1].read(reply)
            except QueuePoolError:
                continue
            if accepted or command_number(newest)[0] == self.epoch:
                self._announced.add(call[0])
            else:
                self._emit(CommandRefused(noop, newest))

    def _write(self, plan: CyclePlan, observations: Sequence[Observation]) -> None:
        commands = plan.commands
        self.unsent = {command.partition: Unsent.REFUSED for command in commands}
        notes = checkpoint.due(
            observations,
            {command.partition for command in commands},
            self._checkpointed,
            interval_s=self._checkpoint_interval_s,
        )
        ttl_s = self._planning.planner.command_ttl_s
        calls = [
            _command(self.epoch, command, command.partition, ttl_s=ttl_s) for command in commands
        ]
        calls += [(number, lead.checkpoint(self.epoch, workers)) for number, workers in notes]
        if not calls or not self._may_act():
            return
        replies = self._fleet.run(calls)
        # The replies to checkpoints follow those to commands.
        for command, call, reply in zip(commands, calls, replies, strict=False):
            self._note_reply(command, call, reply)
        for (number, verb), reply in zip(calls, replies, strict=True):
            with contextlib.suppress(QueuePoolError):
                verb.read(reply)
                self._checkpointed.add(number)

    def _note_reply(self, command: ScaleCommand, call: Call, reply: Reply) -> None:
        try:
            accepted, newest = call[1].read(reply)
        except QueuePoolError as error:
            if isinstance(error, UnavailableError) and error.is_uncertain:
                self.unsent[command.partition] = Unsent.UNKNOWN
            self._emit(CommandFailed(command, str(error)[:300]))
            return
        if accepted:
            del self.unsent[command.partition]
        self._emit(CommandSent(command, newest) if accepted else CommandRefused(command, newest))

    def _record(
        self, decision: PartitionDecision, at_ms: int, finished_per_s: float
    ) -> DecisionRecord:
        planner = self._planning.planner
        return record_of(
            decision,
            at_ms=at_ms,
            epoch=self.epoch,
            cycle=self.cycle,
            policy=planner.policy.name,
            version=planner.policy.version,
            finished_per_s=finished_per_s,
            record_version=planner.record_version,
            unsent=self.unsent.get(decision.partition, ""),
        )


def _command(epoch: int, command: ScaleCommand, partition: int, *, ttl_s: float) -> Call:
    return partition, lead.command(
        epoch,
        command.sequence,
        type=command.type,
        partition=partition,
        target_workers=command.target,
        reason=command.reason,
        expires_ms=round(ttl_s * 1000),
    )
