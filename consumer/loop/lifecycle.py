"""Executes the life of a consumer with threads, connections and a clock.

One thread steps the life (consumer.core.life) and owns all state; workers and signals only ring
its bell or set `stop`.
"""

from __future__ import annotations

import os
import random
import secrets
import socket
import sys
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

import queuepool
from consumer.core.effects import Call, Effect, Pause, Rest, Sleep
from consumer.core.life import ConsumerLife
from consumer.core.liveness import Liveness
from consumer.core.outages import Outages
from consumer.core.owner import Core
from consumer.core.roaming import Roaming, keep_up
from consumer.core.standby import Standby
from consumer.loop.machine import Machine
from consumer.loop.remote_calls import RemoteCalls
from consumer.loop.whereabouts import Whereabouts
from consumer.settings import ConsumerSettings
from consumer.workers import build
from consumer.workers.dispatcher import ClosableWorkers
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.hooks import HookRunner
from consumer.workers.runner import Runner
from consumer.workers.spanning import tracer
from consumer.workers.timeouts import Timekeeper
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, FencedError, QueuePoolError
from queuepool.models.places import DEFAULT_POOL, LEGACY, partition_at
from queuepool.partitions.route import Leave
from queuepool.servers import Bell as ServerBell
from queuepool.servers.namespaces import has_ended
from queuepool.tasks.limiting import declared
from queuepool.tasks.registry import Registry, default_registry
from queuepool.telemetry.events import Listener, fan_out, ignore
from queuepool.verbs.owner import verbs as own

_STEP_S = 0.1
_LEAVE_S = 1.0  # maximum for idle workers to exit
_HOOKS_S = 5.0  # maximum for hooks that wait
_NEEDED_FRAMES = min(200, sys.getrecursionlimit())  # by a turn, with a large margin


class Consumer:
    """One consumer of one pool. `run` returns when it was stopped and has released its partition.

    candidates: partitions in the order in which it tries them; None: a random one. Raises
    ConfigurationError when its pool cannot run the tasks of the registry.
    """

    def __init__(
        self,
        pool: QueuePool,
        settings: ConsumerSettings,
        *,
        registry: Registry = default_registry,
        listen: Listener = ignore,
        candidates: Sequence[int] | None = None,
    ) -> None:
        build.check(settings, registry)
        self.pool = settings.pool
        self._candidates = candidates
        self._pool, self._settings, self._registry, self.listen = pool, settings, registry, listen
        self._stop = threading.Event()
        self._resting = threading.Event()  # never set
        self._bell: ServerBell | None = None
        self._timekeeper, self._handlers = Timekeeper(), HandlerLoop()
        self.hooks = HookRunner(registry)
        now = monotonic()
        self.liveness = Liveness(now, now)
        self.partition: int | None = None
        self.core: Core | None = None
        self.workers: ClosableWorkers | None = None
        self._others: RemoteCalls | None = None
        self._machine = Machine()
        self._whereabouts = Whereabouts(pool, settings.pool)
        self._outages = Outages(settings.lease_s, monotonic, self._whereabouts.server_of)

    def stop(self) -> None:
        """Ask the loop to drain and stop; callable from anywhere, idempotent."""
        self._stop.set()
        self._ring()

    def run(self) -> None:
        """Own one partition at a time, until stopped. Raises FencedError if it was replaced."""
        candidates = self._first_candidates()
        roaming = self._new_roaming(candidates)
        try:
            while True:
                life = self._new_life(candidates, roaming)
                self._drive(life)
                if self.workers is not None and not life.handed_back:
                    self.workers.close(_LEAVE_S)
                if self._stop.is_set() or roaming is None or not roaming.leaves:
                    break
                candidates = roaming.order()
                self._leave()
        except FencedError:
            for job in self.core.claimed.values() if self.core else ():
                job.cancelled = True  # another process owns it: a handler that checks may stop
            raise
        finally:
            self._close()
            self._timekeeper.stop()
            self._handlers.stop()
            self.hooks.close(_HOOKS_S)

    def _new_roaming(self, candidates: list[int]) -> Roaming | None:
        if not self._pool.config.topology.partitioned:
            return None
        chooses = self._chooses()
        return Roaming(
            candidates,
            monotonic,
            self._numbers if chooses else lambda: candidates,
            looks=chooses and self._settings.roaming,
            has_moved=self._whereabouts.has_moved,
            outages=self._outages,
            draw=random.random,
        )

    def _new_life(self, candidates: list[int], roaming: Roaming | None) -> ConsumerLife:
        return ConsumerLife(
            self._standby(candidates),
            self._settings,
            make_workers=self._make_workers,
            stopping=self._stop.is_set,
            liveness=self.liveness,
            emit=fan_out([self.listen, self.hooks.listen]),
            clock=monotonic,
            draw=random.random,
            tasks=[task.name for task in self._registry],
            make_others=self._make_others,
            definition_of=declared(self._registry),
            roaming=roaming,
        )

    def _leave(self) -> None:
        """Forget the partition that was released."""
        self._close()
        self._bell = self.workers = self._others = self.core = self.partition = None
        self._whereabouts.leave()

    def _close(self) -> None:
        if self._bell is not None:
            self._bell.close()
        if self.workers is not None:
            self.workers.close(0.0)
        if self._others is not None:
            self._others.close()

    def _drive(self, life: ConsumerLife) -> None:
        """Step the life to its end. Raises what it raises."""
        steps, perform = life.run(), self._perform
        try:
            effect = next(steps)
            while True:
                try:
                    answer = perform(effect)
                except QueuePoolError as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(answer)
        except StopIteration:
            return

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Call):
            _check_recursion_limit()  # before anything is recorded: it counts as a crash
            partition = self._whereabouts.place(effect.partition)
            if self.core is not None and self.pool != DEFAULT_POOL:
                self._pool.add_to(effect.partition, self.pool)
            return partition.server.run(partition.key, effect.verbs)
        if isinstance(effect, Sleep):
            return self._bell.wait(effect.seconds) if self._bell is not None else None
        if isinstance(effect, Rest):
            return self._resting.wait(effect.seconds)
        if isinstance(effect, Pause):
            return self._pause(effect.seconds)
        self._bell, server = self._whereabouts.acquire(effect.partition)
        return self._bell, server

    def _pause(self, seconds: float) -> None:
        # Not stop.wait(): a signal handler that calls stop.set() would wait for this very thread.
        until = monotonic() + seconds
        while not self._stop.is_set() and (left := until - monotonic()) > 0:
            self._resting.wait(min(_STEP_S, left))

    def _first_candidates(self) -> list[int]:
        if self._settings.partition != "auto":
            number = int(self._settings.partition)
            self._pool.partition(number)  # a number that does not exist is reported at once
            return [number]
        if not self._pool.config.topology.partitioned:
            return [LEGACY]
        candidates = list(self._candidates or shuffled(self._pool))
        if not candidates:
            raise ConfigurationError("there is no partition to own: QUEUEPOOL_PARTITIONS is 0")
        return candidates

    def _chooses(self) -> bool:
        return self._settings.partition == "auto" and self._pool.config.topology.partitioned

    def _numbers(self) -> Sequence[int]:
        return self._pool.config.topology.view.owned

    def _verify(self, candidates: list[int]) -> None:
        self._pool.route.verify(Leave.RECORD)
        if self._chooses():
            keep_up(candidates, self._numbers())

    def _standby(self, candidates: list[int]) -> Standby:
        return Standby(
            candidates,
            self._settings,
            host=f"{socket.gethostname()}:{os.getpid()}",
            nonce=secrets.token_hex(8),
            verify=lambda: self._verify(candidates),
            emit=self.listen,
            clock=monotonic,
            draw=random.random,
            has_ended=has_ended,
            outages=self._outages,
        )

    def _make_workers(self, acquired: own.Acquired, core: Core) -> ClosableWorkers:
        self.partition, self.core = partition_at(acquired.ownership.partition), core
        self.hooks.partition = self.partition
        runner = Runner(
            self._registry,
            acquired.ownership,
            self._handlers,
            self._timekeeper,
            self.hooks.started,
            tracer(self.partition, self.pool),
        )
        runner.results_of = lambda batch, step: self._pool.batch(batch).results(step)
        core.state.progress = runner.progress
        core.state.load = self._machine.load
        core.state.lease.version = queuepool.__version__
        self.workers = build.build(
            self._settings,
            self._registry,
            acquired.ownership,
            runner=runner,
            handlers=self._handlers,
            ring=self._ring,
        )
        return self.workers

    def _make_others(self) -> RemoteCalls:
        self._others = RemoteCalls(self._pool, self._ring, self._whereabouts.askers_elsewhere)
        return self._others

    def _ring(self) -> None:
        if self._bell is not None:
            self._bell.ring()


def shuffled(pool: QueuePool) -> list[int]:
    """Return the partitions in a random order."""
    numbers = list(pool.config.topology.view.owned)
    random.shuffle(numbers)
    return numbers


def _check_recursion_limit() -> None:
    # Python versions would fail at different times or places: always fail here.
    limit = sys.getrecursionlimit()
    if limit < _NEEDED_FRAMES:
        raise RuntimeError(
            f"a handler set sys.setrecursionlimit({limit}) for the whole process, which needs "
            f"{_NEEDED_FRAMES}. Jobs that were running here run again elsewhere, and are "
            "charged a crash."
        )
