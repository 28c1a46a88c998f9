"""The loop of a consumer: stand by, own a partition, run its jobs, drain, release.

    standing by --acquire--> owning --stop--> draining --all ended, or deadline--> released
                               |                 |
                               +----- FENCED ----+--> FencedError: the process must end

One thread runs it and owns all state; workers and signals only ring its bell or set `stop`. A
pass: take what ended, run one turn if one is due, start what was claimed; else sleep until
something is due or somebody rings: the server with a token, a worker, a signal. A turn that gets
no answer is repeated with backoff for as long as it takes; meanwhile nothing is started once the
lease may be over.
"""

from __future__ import annotations

import os
import random
import socket
import threading
from contextlib import suppress
from time import monotonic

from consumer import events
from consumer.core.owner import Core
from consumer.core.restore import restored_workers
from consumer.loop.liveness import Pulse
from consumer.loop.standby import Standby
from consumer.loop.turn_loop import Turner
from consumer.settings import ConsumerSettings
from consumer.workers.event_loop import HandlerLoop
from consumer.workers.pool import WorkerPool
from consumer.workers.runner import Runner
from consumer.workers.timeouts import Timekeeper
from queuepool.client.pool import QueuePool
from queuepool.errors import FencedError, QueuePoolError, UnavailableError
from queuepool.partitions.partition import OwnedPartition
from queuepool.servers import Bell
from queuepool.tasks.backoff import Backoff
from queuepool.tasks.registry import Registry, default_registry
from queuepool.telemetry.events import Listener, ignore
from queuepool.verbs.owner import verbs as own

_LOOK_S = 0.02  # a draining loop looks so often for jobs that ended
_HEAR_S = 0.05  # a loop that never sleeps hears commands so often
_BELL = Backoff(base_s=0.25, cap_s=5.0)  # between two tries to make what an owner sleeps on


class Consumer:
    """One consumer. `run` returns when it was stopped and has released its partition."""

    def __init__(
        self,
        pool: QueuePool,
        settings: ConsumerSettings,
        *,
        registry: Registry = default_registry,
        listen: Listener = ignore,
    ) -> None:
        self._pool, self._settings, self._registry, self.listen = pool, settings, registry, listen
        self._stop = threading.Event()
        self._bell: Bell | None = None
        self._timekeeper, self._handlers = Timekeeper(), HandlerLoop()
        now = monotonic()
        self.pulse = Pulse(now, now)
        self.partition: int | None = None
        self.core: Core | None = None
        self.workers: WorkerPool | None = None

    def stop(self) -> None:
        """Ask the loop to drain and end; callable from anywhere, idempotent."""
        self._stop.set()
        if self._bell is not None:
            self._bell.ring()

    def run(self) -> None:
        """Own one partition until stopped. Raises FencedError when it was lost to someone newer."""
        host = f"{socket.gethostname()}:{os.getpid()}"
        begun = self._begin(Standby(self._pool, self._settings, host, self.listen))
        if begun is None:
            return
        owned, bell = begun
        self._bell = bell
        try:
            self._own(owned, bell)
        except FencedError:
            for job in self.core.claimed.values() if self.core else ():
                job.cancelled = True  # it is somebody else's by now: a handler that looks may stop
            raise
        finally:
            bell.close()
            if self.workers is not None:
                self.workers.resize(0)
            self._timekeeper.stop()
            self._handlers.stop()

    def _begin(self, standby: Standby) -> tuple[OwnedPartition, Bell] | None:
        """Return a partition and what its owner sleeps on, or None when stopped.

        What is here without the other is given back: another process may have a descriptor left.
        """
        failed, ill_since_s = 0, 0.0
        while (owned := standby.acquire(self._stop, self.pulse)) is not None:
            try:
                return owned, owned.partition.server.doorbell(owned.partition.key)
            except UnavailableError as error:
                failed += 1
                ill_since_s = ill_since_s or self.pulse.turned_s
                pause_s = _BELL.delay_s(failed, random.random())
                self.listen(events.TurnFailed(error, pause_s))
                with suppress(FencedError):  # it is somebody else's by now: all the better
                    self._release(owned, drain=False)
                # For the watchdog: where nothing is begun for long, a new process may help.
                self.pulse.turned_s, self.pulse.why = ill_since_s, str(error)
                standby.pause(self._stop, pause_s)
        return None

    def _own(self, owned: OwnedPartition, bell: Bell) -> None:
        settings, now = self._settings, monotonic()
        self.partition = owned.partition.number
        core = self.core = Core(
            owned.acquired,
            settings,
            workers=self._restored(owned.acquired),
            now_s=now,
            tasks=[task.name for task in self._registry],
        )
        runner = Runner(self._registry, owned.life, self._handlers, self._timekeeper)
        core.progress = runner.progress
        workers = self.workers = WorkerPool(runner.run, bell.ring)
        workers.resize(core.target)
        self.listen(events.Owns(owned.acquired, core.target))
        turner = Turner(core, owned, workers, runner, self.listen, self.pulse, bell)
        heard_s = monotonic()
        while not self._stop.is_set():
            wait_s = turner.turn()
            if wait_s > 0 or monotonic() - heard_s > _HEAR_S:
                heard_s = monotonic()
                turner.sleep(wait_s)
        turner.disarm()
        self._drain(core, owned, bell, turner)

    def _restored(self, acquired: own.Acquired) -> int:
        age_s = (acquired.now_ms - (acquired.checkpoint_ms or 0)) / 1000
        return restored_workers(
            acquired.checkpoint,
            age_s,
            min_workers=self._settings.workers,
            max_workers=self._settings.most_workers,
            tau_s=self._settings.checkpoint_tau_s,
        )

    def _drain(self, core: Core, owned: OwnedPartition, bell: Bell, turner: Turner) -> None:
        deadline = monotonic() + self._settings.drain_s
        core.drain(monotonic())
        core.hand_back(self.workers.withdraw() if self.workers else (), monotonic())
        self.listen(events.Draining(core.open, self._settings.drain_s))
        released = False
        while monotonic() < deadline:
            wait_s = turner.turn()
            if core.settled(monotonic()) or (turner.failing and not core.claimed):
                break  # an unheard claim may be booked, but nobody can be asked: it is recovered
            if not released and not turner.failing:
                # A successor may claim from now on, while we finish what runs.
                drains = self._release(owned, drain=True)
                released = drains is not None
                if released:
                    bell.close()  # tokens are the successor's from now on
                if drains is False:  # nothing is booked any more: we have left
                    self.listen(events.Stopped(owned.partition.number, 0))
                    return
            pause_s = max(0.0, min(wait_s, deadline - monotonic()))
            if released:
                turner.rest(min(pause_s, _LOOK_S))
            else:
                bell.wait(pause_s)
        abandoned = core.give_up(monotonic())
        turner.hurry()
        until = (
            monotonic() + self._settings.lease_s
        )  # to record the last ends, and hand back the rest
        while monotonic() < until:
            wait_s = turner.turn()
            if turner.failing or not core.claimed:
                break
            if wait_s > 0:
                turner.rest(min(wait_s, _LOOK_S))
        if self._release(owned, drain=False) is not None:
            self.listen(events.Stopped(owned.partition.number, abandoned))
        if self.workers is not None and not abandoned:
            self.workers.resize(0)
            self.workers.join(1.0)

    def _release(self, owned: OwnedPartition, *, drain: bool) -> bool | None:
        """Return whether this life drains from now on, False when it has left; None: no answer."""
        lease_ms = int(self._settings.lease_s * 1000) if drain else 0
        try:
            if self.core and self.core.unconfirmed:
                owned.run(self.core.unconfirmed)
            life = self.core.life if self.core else owned.life
            return owned.run(own.release(life, drain_lease_ms=lease_ms))
        except FencedError:
            raise
        except QueuePoolError as error:
            self.listen(events.TurnFailed(error, 0.0))
            return None
