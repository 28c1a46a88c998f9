"""The life of a consumer: stand by, own a partition, run its jobs, drain, release. Pure.

    standing by --acquire--> owning --stop--> draining --all ended, or deadline--> released
                               |--work elsewhere-^       (see roaming: no deadline)
                               |                 |
                               +----- FENCED ----+--> FencedError: the process must end

An operator who drains an owner stops it like a signal: the next renewal says so.

It is written once, as steps that yield effects (consumer.core.effects): threads drive it in
production and a scheduler on virtual time in the simulation, so what is proved is what runs. A
pass: take what ended, take a turn if one is due, start what was claimed; else sleep until
something is due or someone rings: the server with a token, a worker, a signal. A turn that gets
no answer is repeated with backoff for as long as it takes; meanwhile nothing is started once the
lease may be over.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from consumer.core import events
from consumer.core.effects import Call, Listen, NoOtherPartitions, Pause, Rest, Sleep
from consumer.core.owner import Core
from consumer.core.restore import restored_workers
from consumer.core.turn_loop import TurnLoop
from queuepool.errors import FencedError, QueuePoolError, UnavailableError
from queuepool.tasks.backoff import Backoff
from queuepool.verbs.owner import verbs as own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from consumer.core.effects import Bell, OtherPartitions, Steps, Workers
    from consumer.core.liveness import Liveness
    from consumer.core.roaming import Roaming
    from consumer.core.standby import Standby
    from consumer.settings import ConsumerSettings
    from queuepool.telemetry.events import Listener
    from queuepool.verbs import T, Verb

_LOOK_S = 0.02  # a draining owner looks so often for jobs that ended
_LISTEN_EVERY_S = 0.05  # an owner that never sleeps looks for tokens so often
_BELL = Backoff(base_s=0.25, cap_s=5.0)  # between attempts to open the bell


class ConsumerLife:
    """One life, from standing by to its end. `run` yields its steps.

    make_workers: creates the workers of an ownership, all idle. stopping: whether the consumer was
    asked to drain and exit. draw: random numbers from 0 to 1. handed_back: how many jobs still ran
    when it ended.
    """

    def __init__(
        self,
        standby: Standby,
        settings: ConsumerSettings,
        *,
        make_workers: Callable[[own.Acquired, Core], Workers],
        stopping: Callable[[], bool],
        liveness: Liveness,
        emit: Listener,
        clock: Callable[[], float],
        draw: Callable[[], float],
        tasks: Sequence[str] = (),
        new_core: Callable[..., Core] = Core,
        make_others: Callable[[], OtherPartitions] = NoOtherPartitions,
        definition_of: Callable[[str], str] = lambda _: "",
        roaming: Roaming | None = None,
    ) -> None:
        self._roaming = roaming
        self._make_others, self._definition_of = make_others, definition_of
        self._standby, self._settings, self._make_workers, self._tasks = (
            standby,
            settings,
            make_workers,
            tasks,
        )
        self._stopping, self._liveness, self._emit = stopping, liveness, emit
        self._clock, self._draw, self._new_core = clock, draw, new_core
        self.core: Core | None = None
        self.handed_back = 0

    def run(self) -> Steps[None]:
        """Own one partition until stopped, or until work waits elsewhere (see roaming).

        Raises FencedError if a newer owner took it.
        """
        begun = yield from self._begin()
        if begun is None:
            return
        acquired, bell = begun
        core = self.core = self._new_core(
            acquired,
            self._settings,
            workers=self._restored(acquired),
            now_s=self._clock(),
            tasks=self._tasks,
            definition_of=self._definition_of,
        )
        workers = self._make_workers(acquired, core)
        workers.resize(core.target)
        self._emit(events.Owns(acquired, core.target))
        turns = TurnLoop(
            core,
            workers,
            bell,
            liveness=self._liveness,
            outages=self._standby.outages,
            emit=self._emit,
            clock=self._clock,
            draw=self._draw,
            others=self._make_others(),
            roaming=self._roaming,
        )
        yield from self._own(core, turns)
        core.drain(self._clock())
        core.hand_back(workers.withdraw(), self._clock())
        if (yield from self._drain(core, bell, turns)):
            yield from self._end(core, turns)

    def _begin(self) -> Steps[tuple[own.Acquired, Bell] | None]:
        """Return what was acquired and its owner's bell, or None when stopped.

        If only one of them can be had, it is given back: another process may have descriptors left.
        """
        failed, failing_since_s = 0, 0.0
        while True:
            acquired = yield from self._standby.acquire(self._stopping, self._liveness)
            if acquired is None:
                return None
            try:
                bell, server = yield Listen(acquired.ownership.partition)
            except UnavailableError as error:
                failed += 1
                failing_since_s = failing_since_s or self._liveness.last_reply_s
                pause_s = _BELL.delay_s(failed, self._draw())
                self._emit(events.TurnFailed(error, pause_s))
                with suppress(FencedError):  # another process already owns it: fine
                    yield from self._release(acquired.ownership, drain=False)
                # For the watchdog: if nothing starts for long, a new process may help.
                self._liveness.last_reply_s, self._liveness.why = failing_since_s, str(error)
                yield Pause(pause_s)
            else:
                return acquired.on(server), bell

    def _own(self, core: Core, turns: TurnLoop) -> Steps[None]:
        listened_s, roaming = self._clock(), self._roaming
        if roaming is not None:
            roaming.arrive(core.ownership.partition)
        while not (self._stopping() or core.state.lease.to_end):
            wait_s = yield from turns.turn()
            if roaming is not None:
                if turns.roam(rests=wait_s > 0):
                    break
                wait_s = roaming.wait_s(wait_s)
            if wait_s > 0 or self._clock() - listened_s > _LISTEN_EVERY_S:
                listened_s = self._clock()
                yield from turns.sleep(wait_s)
        yield from turns.disarm()

    def _restored(self, acquired: own.Acquired) -> int:
        return restored_workers(
            acquired.checkpoint,
            (acquired.now_ms - (acquired.checkpoint_ms or 0)) / 1000,
            min_workers=self._settings.least_workers,
            max_workers=self._settings.most_workers,
            tau_s=self._settings.checkpoint_tau_s,
        )

    def _announce(self, core: Core) -> float:
        """Say that it drains; return the deadline of running jobs, or inf."""
        wanted = self._roaming.wanted if self._roaming is not None else []
        if wanted:
            self._emit(events.Leaves(core.ownership, core.open, wanted[0]))
            return inf
        self._emit(events.Draining(core.open, self._settings.drain_s))
        return self._clock() + self._settings.drain_s

    def _drain(self, core: Core, bell: Bell, turns: TurnLoop) -> Steps[bool]:
        """Let jobs end until the deadline; returns False if nothing is left to send.

        One that leaves for work elsewhere has no deadline until the process is stopped.
        """
        deadline, released = self._announce(core), False
        while self._clock() < deadline:
            if deadline == inf and self._stopping():
                deadline = self._clock() + self._settings.drain_s
            wait_s = yield from turns.turn()
            if core.settled(self._clock()) or (turns.failing and not core.claimed):
                break  # a lost claim may be in flight, but the server is down: it will be recovered
            if not released and not turns.failing and not core.has_history:
                # A successor may claim from now on, while we finish running jobs.
                drains = yield from self._release(core.ownership, drain=True)
                released = drains is not None
                if released:
                    bell.close()  # tokens are for the successor from now on
                if drains is False:  # nothing is in flight any more: we have left
                    self._emit(events.Stopped(core.ownership.partition, 0))
                    return False
            pause_s = max(0.0, min(wait_s, deadline - self._clock()))
            yield Rest(min(pause_s, _LOOK_S)) if released else Sleep(pause_s)
        return True

    def _end(self, core: Core, turns: TurnLoop) -> Steps[None]:
        """Record the last ends, hand back what still runs, and release the partition."""
        self.handed_back = core.give_up(self._clock())
        if self.handed_back:
            self._emit(events.HandsBack(self.handed_back))
        turns.hurry()
        until = self._clock() + self._settings.lease_s
        while self._clock() < until:
            wait_s = yield from turns.turn()
            if turns.failing or not core.claimed:
                break
            if wait_s > 0:
                yield Rest(min(wait_s, _LOOK_S))
        if (yield from self._release(core.ownership, drain=False)) is not None:
            self._emit(events.Stopped(core.ownership.partition, self.handed_back))

    def _release(self, life: own.Ownership, *, drain: bool) -> Steps[bool | None]:
        """Return whether this life drains from now on, False if it has left; None: no reply."""
        lease_ms = int(self._settings.lease_s * 1000) if drain else 0
        try:
            if self.core is not None and self.core.unconfirmed is not None:
                yield from _run(life.partition, self.core.unconfirmed)
            return (yield from _run(life.partition, own.release(life, drain_lease_ms=lease_ms)))
        except FencedError:
            raise
        except QueuePoolError as error:
            self._emit(events.TurnFailed(error, 0.0))
            return None


def _run(partition: int, verb: Verb[T]) -> Steps[T]:
    replies = yield Call(partition, [verb])
    return verb.read(replies[0])
