"""Fires schedules while this process leads, on a thread of its own.

    read the schedules -> which times are due (core.firing) -> fire each -> record what was done

A look fires a bounded number of times; if more are due, the next look follows at once. What cannot
fire uses up nothing of that number, so that a partition that is full or away delays no other's.
A server that hangs delays neither the control loop nor, for longer than a call, other schedules.
Whoever leads next begins with what is recorded, and asks again for what is not: each time fires
once, see core.firing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from coordinator.core.events import ScheduleFailed, ScheduleFired, SchedulePassed
from coordinator.core.firing import MOST_FIRED, Firing, due, in_turn
from queuepool.client.chunks import Chunk
from queuepool.client.pool import QueuePool
from queuepool.client.rerouting import slots_of
from queuepool.client.schedules import job_of
from queuepool.errors import QueuePoolError, UnavailableError
from queuepool.errors.escaping import id_text
from queuepool.errors.hindrances import start_thread
from queuepool.models import JobState, Schedule, ScheduleStatus
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.schedules import Fired, id_of_time
from queuepool.telemetry.events import Listener, ignore
from queuepool.verbs.producer import verbs as produce
from queuepool.verbs.producer.verbs import Conflicts, Full
from queuepool.verbs.schedules import verbs
from queuepool.verbs.schedules.verbs import NotFired

INTERVAL_S = 1.0
# The commands of another pool have a leader of their own, so its epoch says nothing of ours.
_ANY_EPOCH = 2**53 - 1


class _ReplacedError(Exception):
    """Another coordinator leads by now."""


class ScheduleRunner:
    """Fires schedules from start() to stop(). epoch: of our leadership; 0 while we do not lead.

    It is asked right before each write: a lease can end while a server is slow.
    """

    def __init__(
        self,
        pool: QueuePool,
        epoch: Callable[[], int],
        *,
        emit: Listener = ignore,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._pool, self._epoch, self._emit = pool, epoch, emit
        self._interval_s = interval_s
        self._version = self._of_epoch = self._room = 0
        self._known: dict[str, ScheduleStatus] = {}
        self._next: dict[str, int] = {}  # when each is due; those that never are, are left out
        self._unrecorded: dict[str, Fired] = {}
        self._problems: dict[str, str] = {}
        self._stopping = threading.Event()
        # A daemon, so that a hanging server does not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="coordinator-schedules", daemon=True)

    def start(self) -> None:
        """Start; call once. Raises NoThreadError."""
        start_thread(self._thread, "to fire schedules")

    def stop(self) -> None:
        """Stop soon, without waiting. Idempotent, legal before start."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if not self.look():
                self._stopping.wait(self._interval_s)

    def look(self) -> bool:
        """Fire what is due, if this process leads; return whether more is due. Does not raise."""
        epoch = self._epoch()
        if epoch != self._of_epoch:
            self._forget(epoch)
        if not epoch:
            return False
        try:
            now_ms = self._read()
            more = self._fire_all(now_ms)
            self._record()
        except _ReplacedError:
            self._forget(0)
        except Exception as error:  # whatever it is, the next look starts over
            self._fail("", f"{type(error).__name__}: {error}"[:300])
        else:
            self._problems.pop("", None)
            return more
        return False

    def _forget(self, epoch: int) -> None:
        self._version, self._of_epoch = 0, epoch
        self._known, self._next, self._unrecorded = {}, {}, {}

    def _read(self) -> int:
        """Learn of changes; return the server's time."""
        server, key = self._pool.system
        verb = verbs.schedules(self._version)
        read = verb.read(server.run(key, [verb])[0])
        if not read.unchanged:
            ours = self._unrecorded
            self._known = {
                each.name: replace(each, state=ours.get(each.name, each.state))
                for each in read.found
            }
            self._version, self._next = read.version, {}
            for status in read.found:
                self._plan(status.name)
                if status.problem:
                    self._fail(status.name, status.problem)
            for name in self._problems.keys() - self._known.keys() - {""}:
                del self._problems[name]
        return read.now_ms

    def _plan(self, name: str) -> None:
        status = self._known[name]
        following = [] if status.paused_ms else status.next(1)
        self._next.pop(name, None)
        if following:
            self._next[name] = following[0]

    def _fire_all(self, now_ms: int) -> bool:
        """Fire what is due; return whether there was too much of it for a look."""
        more = False
        self._room, away = MOST_FIRED, set[str]()
        ready = [(at, self._known[name]) for name, at in self._next.items() if at <= now_ms]
        for status in in_turn(ready, now_ms):
            firing, name = due(status, now_ms, self._room), status.name
            if firing is None:
                more = more or self._room < 1
                continue
            try:
                self._settle(status, firing, now_ms, away)
            except QueuePoolError as error:
                self._fail(name, str(error)[:300])
                self._plan(name)
            else:
                self._problems.pop(name, None)
                self._plan(name)
                more = more or self._next.get(name, now_ms + 1) <= now_ms
        return more

    def _settle(self, status: ScheduleStatus, firing: Firing, now_ms: int, away: set[str]) -> None:
        """Fire the times of a schedule; what was done before an error is kept."""
        state = replace(status.state, version=status.version, through_ms=status.settled_ms)
        if not firing.fire:
            self._keep(status, self._passed(status, firing, state))
            return
        first, last_ms = True, 0
        for due_ms in firing.fire:
            if due_ms > last_ms:
                outcome, last_ms = self._fire(status, due_ms, away)
            if first:
                state, first = self._passed(status, firing, state), False
            if outcome == "overlapped":
                state = replace(state, overlapped=state.overlapped + 1)
                self._emit(SchedulePassed(status.name, "overlapped", 1))
            else:  # if not by us now, it may not have been recorded
                fired, last = state.fired + (due_ms > state.last_due_ms), state.last_due_ms
                state = replace(
                    state, last_due_ms=max(last, due_ms), last_at_ms=now_ms, fired=fired
                )
            if outcome == "fired":
                late_s = max(0, now_ms - due_ms) / 1000
                self._emit(ScheduleFired(status.name, id_of_time(status.name, due_ms), late_s))
            state = replace(state, through_ms=due_ms)
            self._keep(status, state)
        self._keep(status, replace(state, through_ms=firing.through_ms))

    def _passed(self, status: ScheduleStatus, firing: Firing, state: Fired) -> Fired:
        """Return the state with the times that passed; they are all before those that fire."""
        if firing.missed:
            self._emit(SchedulePassed(status.name, "missed", firing.missed))
        if firing.overlapped:
            self._emit(SchedulePassed(status.name, "overlapped", firing.overlapped))
        return replace(
            state,
            through_ms=max(state.through_ms, firing.through_ms if not firing.fire else 0),
            missed=state.missed + firing.missed,
            overlapped=state.overlapped + firing.overlapped,
        )

    def _keep(self, status: ScheduleStatus, state: Fired) -> None:
        self._known[status.name] = replace(status, state=state)
        self._unrecorded[status.name] = state

    def _fire(self, status: ScheduleStatus, due_ms: int, away: set[str]) -> tuple[str, int]:
        """Fire a time; return its outcome, and until when all times have fired."""
        schedule = status.schedule
        assert schedule is not None  # noqa: S101 - else nothing of it is due
        last_ms = self._known[status.name].state.last_due_ms
        last_id = id_of_time(status.name, last_ms) if last_ms else ""
        outcome = self._ask(schedule, due_ms, away, last_id)
        self._room -= not isinstance(outcome, Full)
        if isinstance(outcome, NotFired):
            if outcome.why == "FENCED":
                raise _ReplacedError
            return ("overlapped", 0) if outcome.why == "BUSY" else ("before", int(outcome.of))
        if isinstance(outcome, Full):
            raise QueuePoolError(
                f"the partition is full: {outcome.depth:,} jobs, {outcome.size_bytes:,} bytes"
            )
        return ("overlapped" if isinstance(outcome, Conflicts) else "fired"), due_ms

    def _ask(self, schedule: Schedule, due_ms: int, away: set[str], last_id: str) -> object:
        config = self._pool.config
        chunk = job_of(self._pool.producer, schedule, id_of_time(schedule.name, due_ms))
        name = config.topology.server_of(chunk.partition)
        if name in away:
            raise UnavailableError(f"server {name} did not respond to another schedule")
        epoch = self._of_epoch
        try:
            self._pool.add_to(chunk.partition, chunk.pool, chunk.since)
            if self._was_fired(chunk):
                return NotFired("LATER", str(due_ms))
            if self._epoch() != epoch:
                raise _ReplacedError
            verb = verbs.fire(
                schedule.name,
                due_ms,
                epoch if chunk.pool == DEFAULT_POOL else _ANY_EPOCH,
                chunk.verb(config),
                overlap=schedule.overlap == "allow",
                last_id=last_id,
            )
            return verb.read(self._pool.servers[name].run(chunk.key, [verb])[0])
        except UnavailableError:
            away.add(name)
            raise

    def _was_fired(self, chunk: Chunk) -> bool:
        """Return whether a place knows the job where its slot was lately.

        An earlier leader may have fired it there, and could not record it.
        """
        former = self._pool.config.topology.view.former
        for job_id, slot in slots_of(chunk) if former else ():
            for number in former.places_of(slot):
                verb = produce.status(id_text(job_id), number, produce.ANY_VERSION)
                said = self._pool.partition(number, chunk.pool).run(verb)
                if said.state is not JobState.UNKNOWN and said.slot in (None, slot):
                    return True
        return False

    def _record(self) -> None:
        if not self._unrecorded:
            return
        if self._epoch() != self._of_epoch:
            raise _ReplacedError
        server, key = self._pool.system
        verb = verbs.note_fired(self._of_epoch, self._unrecorded)
        if verb.read(server.run(key, [verb])[0]) < 0:
            raise _ReplacedError
        self._unrecorded = {}

    def _fail(self, name: str, problem: str) -> None:
        if self._problems.get(name) != problem:
            self._emit(ScheduleFailed(name, problem))
        self._problems[name] = problem
