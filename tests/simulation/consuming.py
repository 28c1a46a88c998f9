"""A consumer without network, threads and clock: its real life, stepped on virtual time.

What it decides is consumer.core.life, to the last line. Here is only what carries its effects out:
calls go through the faults of the network, sleeps end by tokens, rings or time, and its claim that
waits at the server for a token may be executed whenever the server likes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from consumer.core import events
from consumer.core.effects import Call, Effect, Listen, Sleep
from consumer.core.life import ConsumerLife
from consumer.core.liveness import Liveness
from consumer.core.owner import Core
from consumer.core.standby import Standby
from consumer.settings import ConsumerSettings
from queuepool.errors import FencedError, QueuePoolError, UnavailableError
from queuepool.models.places import DEFAULT_POOL
from queuepool.servers import Reply
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from tests.simulation.ledger import Ledger
from tests.simulation.network import Answer, Calls, Network
from tests.simulation.remote_calls import SimulatedRemoteCalls
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Process
from tests.simulation.workers import SimulatedWorkers

_BLOCK_S = 1.0
NewCore = Callable[..., Core]
_settings = cache(ConsumerSettings)  # reading the environment takes longer than most lives


class Bell:
    """What the owner sleeps on: tokens of the server, and a claim that waits there for one."""

    lifeline = ""

    def __init__(self, process: Process, network: Network, ledger: Ledger) -> None:
        self._process, self._network, self._ledger = process, network, ledger
        self.armed: Verb[Any] | None = None  # waits at the server for a token
        self.fired: Verb[Any] | None = None  # has its token; the reply is on its way
        self.closed = False
        self._reply: Reply = None
        self._unfetched: Calls = ()
        self.heard: Callable[[bytes | None], None] = lambda _: None

    def arm(self, verb: Verb[Any]) -> bool:
        if self.armed or self.fired or self._reply is not None or self.closed:
            return False
        self.armed = verb

        def late() -> None:
            if self.armed is verb:
                self.fire(None)

        self._network.scheduler.after(_BLOCK_S, late)
        return True

    def fire(self, token: bytes | None) -> None:
        """Carry out the claim that waits at the server, which stalled consumers have too."""
        verb = self.armed
        assert verb is not None
        self.armed, self.fired = None, verb
        self._ledger.journal.seen["armed claims"] += 1
        calls = [(self._ledger.key, verb)]

        def answered(answer: Answer) -> None:
            if self.fired is not verb:  # it was given up meanwhile
                if not isinstance(answer, QueuePoolError):
                    self._network.unheard(calls, answer)
                return
            self.fired = None
            if isinstance(answer, QueuePoolError):
                self._reply = answer
            else:
                self._reply, self._unfetched = answer[0], calls
            self.heard(token)

        self._network.answer(self._process, calls, answered)

    def answer(self) -> Reply:
        reply, self._reply, self._unfetched = self._reply, None, ()
        return reply

    def settle(self) -> None:
        pass

    def disarm(self) -> None:
        if self.armed or self.fired:
            self.armed = self.fired = None
            self._reply = UnavailableError("simulated: it was released")

    def close(self) -> None:
        self.disarm()
        if self._unfetched:  # its process died, or is past claiming, before it looked
            self._network.unheard(self._unfetched, [self.answer()])
        self.closed = True


def _size(workers: int, pool: str) -> dict[str, Any]:
    if pool == DEFAULT_POOL:
        return {"workers": workers}
    return {"pools": f"{pool}={workers}..{8 * workers}"}


class Consumer(Process):
    """One process that stands by, owns the partition, and ends one day."""

    def __init__(
        self,
        name: str,
        network: Network,
        ledger: Ledger,
        scenario: Scenario,
        rng: random.Random,
        *,
        poisonous: Callable[[bytes], bool],
        gone: Callable[[], None],
        new_core: NewCore = Core,
        partition: int = 0,
        homes: Sequence[bytes] = (),
        pool: str = DEFAULT_POOL,
    ) -> None:
        super().__init__(network.scheduler, name)
        self._partition, self._homes = partition, homes
        self._network, self._ledger, self._scenario = network, ledger, scenario
        self._random, self._poisonous, self._gone = rng, poisonous, gone
        self._settings = _settings(
            partition="0",
            **_size(scenario.workers, pool),
            lease_s=scenario.lease_s,
            drain_s=scenario.drain_s,
            prefetch=scenario.prefetch,
            max_crashes=scenario.max_crashes,
        )
        self.workers: SimulatedWorkers | None = None
        self._bell: Bell | None = None
        self._stopping = self._rung = False
        self._sleep: object | None = None
        self._life = self._new_life(new_core)
        self._steps = self._life.run()
        self.after(rng.random() * 0.1, self._go)

    def _new_life(self, new_core: NewCore) -> ConsumerLife:
        limits = self._scenario.limits
        clock, draw, settings = self.scheduler.clock, self._random.random, self._settings
        standby = Standby(
            [self._partition],
            settings,
            host=self.name,
            nonce=f"{self._random.getrandbits(64):016x}",
            verify=lambda: None,
            emit=self._listen,
            clock=clock,
            draw=draw,
        )
        return ConsumerLife(
            standby,
            settings,
            make_workers=self._make_workers,
            stopping=lambda: self._stopping,
            liveness=Liveness(0.0, 0.0),
            emit=self._listen,
            clock=clock,
            draw=draw,
            new_core=new_core,
            make_others=lambda: SimulatedRemoteCalls(self, self._network, self._homes, self.ring),
            definition_of=limits.definition if limits is not None else lambda _: "",
        )

    # -- from outside ------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ask it to drain and end, as SIGTERM does."""
        self._stopping = True
        self.ring()

    def kill(self) -> None:
        """End at once, and be replaced."""
        if self.dead:
            return
        super().kill()
        if self.workers is not None:
            self.workers.killed()
        if self._bell is not None:
            self._bell.close()
        self._say("is gone")
        self._gone()

    @property
    def listens(self) -> bool:
        """Return whether a token would reach it."""
        if self._bell is None or self._bell.closed or self._bell.fired:
            return False  # its connection is busy with the claim
        return self.armed or (self._sleep is not None and not self.stalled)

    @property
    def armed(self) -> bool:
        """Return whether a claim of its own waits at the server for a token."""
        return self._bell is not None and self._bell.armed is not None

    def fire(self, token: bytes | None) -> None:
        """Carry out the claim that waits at the server."""
        assert self._bell is not None
        self._bell.fire(token)

    def ring(self, token: bytes | None = None) -> None:
        """Wake it, or keep it from going to sleep."""
        if self._sleep is None:
            self._rung = True
            return
        self._sleep = None
        self.after(0.0, lambda: self._go(token))

    # -- effects -----------------------------------------------------------------------------------

    def _go(self, answer: Any = None) -> None:
        """Step the life to its next effect, and carry that out."""
        try:
            if isinstance(answer, QueuePoolError):
                effect = self._steps.throw(answer)
            else:
                effect = self._steps.send(answer)
        except StopIteration:
            self.kill()
        except FencedError:
            self._say("is fenced")
            self._ledger.journal.seen["fenced"] += 1
            self.kill()
        else:
            self._look()
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Call):
            calls = [(self._ledger.key, verb) for verb in effect.verbs]
            self._network.call(self, calls, self._go)
        elif isinstance(effect, Listen):
            self._bell = Bell(self, self._network, self._ledger)
            self._bell.heard = self.ring
            self.after(0.0, lambda: self._go((self._bell, "main")))
        elif isinstance(effect, Sleep):
            self._fall_asleep(effect.seconds)
        else:
            self.after(effect.seconds, self._go)

    def _fall_asleep(self, seconds: float) -> None:
        if self._rung:
            seconds = 0.0
        self._rung = False
        sleep = self._sleep = object()

        def wake() -> None:
            if self._sleep is sleep:
                self._sleep = None
                self._go()

        self.after(seconds, wake)
        assert self._bell is not None
        listens = not self._bell.closed and not self._bell.fired
        token = self._ledger.pop_token() if listens else None
        if token is not None and self.armed:
            self._bell.fire(token)
        elif token is not None:
            self.ring(token)

    def _make_workers(self, acquired: own.Acquired, core: Core) -> SimulatedWorkers:
        self.workers = SimulatedWorkers(
            self,
            self._ledger,
            self._scenario,
            self._random,
            epoch=acquired.ownership.epoch,
            poisonous=self._poisonous,
            die=self.kill,
            ring=self.ring,
        )
        core.state.progress = self.workers.progress
        self._say(
            f"owns the partition under epoch {acquired.ownership.epoch}, "
            f"{acquired.epochs_to_recover} epochs to recover"
        )
        return self.workers

    # -- what the checker wants to know ------------------------------------------------------------

    def _look(self) -> None:
        core = self._life.core
        if core is None:
            return
        journal, most = self._ledger.journal, self._settings.most_workers
        journal.targets.append((self.name, core.target, 1, most))
        if len(core.claimed) > most + self._settings.prefetch + own.MAX_BATCH:
            journal.problems.append(f"{self.name} holds {len(core.claimed)} jobs")

    def _listen(self, event: object) -> None:
        self._ledger.journal.seen[type(event).__name__] += 1
        if isinstance(event, events.HandsBack):
            # The process ends now: what runs is handed back while it still runs, to run again.
            core = self._life.core
            assert core is not None
            self._ledger.journal.lost_s.setdefault(core.ownership.epoch, self.now_s)
            self._ledger.journal.gave_up.add(core.ownership.epoch)
            self._say(f"gives up {event.running} running jobs")

    def _say(self, what: str) -> None:
        self._ledger.journal.note(self.now_s, self.name, what)
