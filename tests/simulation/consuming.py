"""A consumer without network, threads and clock: consumer.core.owner.Core, driven as its loop does it.

    standing by --acquire--> owning --drain--> leaving --release--> gone
                               `-- killed, or FENCED --> gone

What is here instead of consumer.loop.standby, consumer.loop.turn_loop and consumer.loop.lifecycle keeps to their order of
steps; whatever they decide with the core is decided by the real core.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from consumer.core.owner import Core
from consumer.core.restore import restored_workers
from consumer.core.turn import Plan
from consumer.settings import ConsumerSettings
from queuepool.errors import FencedError, QueuePoolError, UnavailableError
from queuepool.verbs import Verb
from queuepool.verbs.owner import verbs as own
from tests.simulation.crew import Crew
from tests.simulation.ledger import Ledger
from tests.simulation.network import Answer, Network
from tests.simulation.scenario import Scenario
from tests.simulation.scheduler import Event, Process

_MARGIN_S, _LOOK_S, _BLOCK_S = 0.5, 0.02, 1.0
_LAST_TURNS = 32
NewCore = Callable[..., Core]


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
    ) -> None:
        super().__init__(network.scheduler, name)
        self._network, self._ledger, self._scenario = network, ledger, scenario
        self._random, self._poisonous, self._gone, self._new_core = rng, poisonous, gone, new_core
        self._nonce = f"{rng.getrandbits(64):016x}"
        self._settings = ConsumerSettings(
            partition="0",
            workers=scenario.workers,
            lease_s=scenario.lease_s,
            drain_s=scenario.drain_s,
            lookahead=scenario.lookahead,
            max_crashes=scenario.max_crashes,
        )
        self.core: Core | None = None
        self.crew: Crew | None = None
        self._calling = self._rung = self._stopping = self._failing = False
        self._released = self._given_up = self._bell_closed = False
        self._last_turns = _LAST_TURNS
        self._pause_s, self._last_end_s, self._last_turn_s = 0.05, 0.0, 0.0
        self._deadline_s = 0.0
        self._quiet_until_s = 0.0
        self._sleep: Event | None = None
        self._held: Plan | None = None  # its claim waits at the server for a token
        self.after(rng.random() * 0.1, self._look)

    # -- life --------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ask it to drain and end, as SIGTERM does."""
        self._stopping = True
        self.ring()

    def kill(self) -> None:
        """End at once, and be replaced."""
        if self.dead:
            return
        super().kill()
        if self.crew is not None:
            self.crew.killed()
        self._held = None
        self._say("is gone")
        self._gone()

    @property
    def listens(self) -> bool:
        """Return whether it sleeps on the partition's bell."""
        awake = self._sleep is None or self._sleep.action is None
        if self.core is None or self._bell_closed:
            return False
        return self.armed or not (awake or self.stalled)

    @property
    def armed(self) -> bool:
        """Return whether a claim of its own waits at the server for a token."""
        return self._held is not None

    def ring(self, token: bytes | None = None) -> None:
        """Wake it, or keep it from going to sleep."""
        if token is not None and self.core is not None:
            self.core.woken(token, self.now_s)
        if self._sleep is not None and self._sleep.action is not None:
            self._sleep.cancel()
            self.after(0.0, self._turn)
        else:
            self._rung = True

    def fire(self, token: bytes | None) -> None:
        """Carry out the claim that waits at the server, which stalled consumers have too."""
        plan, self._held = self._held, None
        assert plan is not None
        self._ledger.journal.seen["armed claims"] += 1
        calls = [(self._ledger.key, plan.verbs[0])]

        def heed(answer: Answer) -> None:
            core = self.core
            if core is None or core.armed is not plan:  # it was given up meanwhile
                if not isinstance(answer, QueuePoolError):
                    self._network.unheard(calls, answer)
                return
            if isinstance(answer, QueuePoolError):
                core.lost(plan, self.now_s)
            else:
                if token is not None:
                    core.woken(token, self.now_s)
                self._learn(core, plan, answer)
            if not self.dead:
                self.ring()

        self._network.answer(self, calls, heed)

    def _arm(self) -> None:
        core = self.core
        plan = core.arm(self.now_s) if core is not None and not self._bell_closed else None
        if plan is None:
            return
        self._held = plan

        def late() -> None:
            if self._held is plan:
                self.fire(None)

        self._network.scheduler.after(_BLOCK_S, late)

    def _disarm(self) -> None:
        self._held = None
        if self.core is not None and self.core.armed is not None:
            self.core.lost(self.core.armed, self.now_s)

    # -- standing by -------------------------------------------------------------------------------

    def _look(self) -> None:
        if self._stopping:
            self.kill()
            return
        if self.now_s < self._quiet_until_s:
            self.after(0.3, self._look)
            return
        lease_ms = int(self._settings.lease_s * 1000)
        verb = own.acquire(0, self._nonce, lease_ms=lease_ms, host=self.name)
        self._call([verb], lambda answer: self._looked(verb, answer))

    def _looked(self, verb: Verb[Any], answer: Answer) -> None:
        if isinstance(answer, QueuePoolError):
            if self._random.random() < 0.5:  # the real one is quiet for a lease: less is harder
                self._quiet_until_s = self.now_s + self._settings.lease_s
            self.after(0.3, self._look)
            return
        got = verb.read(answer[0])
        if isinstance(got, own.Held):
            wait_s = min(0.7, got.lease_ms / 1000 + 0.005)
            self.after(wait_s * (0.8 + 0.4 * self._random.random()), self._look)
            return
        self._own(got)

    def _own(self, acquired: own.Acquired) -> None:
        workers = restored_workers(
            acquired.checkpoint,
            (acquired.now_ms - (acquired.checkpoint_ms or 0)) / 1000,
            min_workers=self._settings.workers,
            max_workers=self._settings.most_workers,
            tau_s=self._settings.checkpoint_tau_s,
        )
        core = self._new_core(acquired, self._settings, workers=workers, now_s=self.now_s)
        self.core = core
        self.crew = Crew(
            self,
            self._ledger,
            self._scenario,
            self._random,
            epoch=acquired.life.epoch,
            poisonous=self._poisonous,
            die=self.kill,
            ring=self.ring,
        )
        core.progress = self.crew.progress
        self.crew.resize(core.target)
        self._say(f"owns the partition in life {acquired.life.epoch}, {acquired.books} books")
        self._last_end_s = self._last_turn_s = self.now_s
        self._turn()

    # -- turns -------------------------------------------------------------------------------------

    def _turn(self) -> None:
        core, crew = self.core, self.crew
        if self._calling or core is None or crew is None:
            return
        if self._stopping and not core.draining:
            self._begin_to_drain(core, crew)
        self._rung = False
        now = self.now_s
        ended = crew.take_ended()
        if ended:
            core.ended(ended)
            self._last_end_s = now
        core.alive = crew.alive
        if crew.queued and now - self._last_end_s > core.lookahead.patience_s():
            core.stalled(crew.withdraw(), now)
            self._last_end_s = now
        wait_s = core.due_s(now)
        if wait_s > 0:
            patience_s = core.lookahead.patience_s() if crew.queued else wait_s
            self._turned(min(wait_s, patience_s))
            return
        linger_s = self._last_turn_s + core.lookahead.linger_s() - now
        if crew.queued and not core.claims_much(now) and linger_s > 0:
            self.after(linger_s, self._turn)
            return
        plan = core.plan(now)
        if not plan.steps:
            self._turned(0.001)
            return
        self._call(plan.verbs, lambda answer: self._heard(core, plan, answer))

    def _heard(self, core: Core, plan: Any, answer: Answer) -> None:
        if isinstance(answer, QueuePoolError):
            core.lost(plan, self.now_s)
            self._disarm()
            self._turned(self._failed())
            return
        if self._learn(core, plan, answer):
            self._last_turn_s = self.now_s
            if plan.progress:
                self._pause_s = 0.05
            if not plan.is_rekey:
                self._failing = False
            self._turned(0.0)

    def _learn(self, core: Core, plan: Plan, answer: Answer) -> bool:
        assert not isinstance(answer, QueuePoolError)
        try:
            jobs, told = core.absorb(plan, answer, self.now_s)
        except FencedError:
            self._say("is fenced")
            self._ledger.journal.seen["fenced"] += 1
            self.kill()
            return False
        self._start(core, jobs)
        for event in told:
            self._ledger.journal.seen[type(event).__name__] += 1
        return True

    def _start(self, core: Core, jobs: Any) -> None:
        crew = self.crew
        assert crew is not None
        crew.start_until_s = core.tenure.ends_s - _MARGIN_S
        if crew.target != core.target:
            crew.resize(core.target)
        most = self._settings.most_workers
        self._ledger.journal.targets.append((self.name, core.target, 1, most))
        if len(core.claimed) > most + self._settings.lookahead + own.MAX_BATCH:
            self._ledger.journal.problems.append(f"{self.name} holds {len(core.claimed)} jobs")
        crew.submit(jobs)

    def _failed(self) -> float:
        self._failing = True
        pause_s = self._pause_s * (0.5 + self._random.random())
        self._pause_s = min(1.0, self._settings.lease_s / 6, self._pause_s * 2)
        return pause_s

    def _turned(self, wait_s: float) -> None:
        assert self.core is not None
        if self.core.draining:
            self._drain_on(wait_s)
        elif self._rung or wait_s <= 0:
            self.after(0.0, self._turn)
        else:
            self._rest(wait_s)

    def _rest(self, seconds: float) -> None:
        self._arm()
        self._sleep = self.after(seconds, self._turn)
        token = None if self._bell_closed else self._ledger.pop_token()
        if token is not None and self.armed:
            self.fire(token)
        elif token is not None:
            self.ring(token)

    # -- leaving -----------------------------------------------------------------------------------

    def _begin_to_drain(self, core: Core, crew: Crew) -> None:
        self._disarm()
        self._deadline_s = self.now_s + self._settings.drain_s
        core.drain(self.now_s)
        core.hand_back(crew.withdraw(), self.now_s)
        self._say(f"drains, {core.open} open")

    def _drain_on(self, wait_s: float) -> None:
        core = self.core
        assert core is not None
        if self._given_up:
            self._last_turns -= 1
            if self._failing or not core.claimed or self._last_turns <= 0:
                self._leave()
            else:
                self.after(0.0, self._turn)
        elif core.settled(self.now_s) or self.now_s >= self._deadline_s:
            self._give_up(core)
        elif not self._released and not self._failing:
            self._release(drain=True)
        else:
            left_s = max(0.0, self._deadline_s - self.now_s)
            pause_s = min(wait_s, left_s, _LOOK_S if self._released else left_s)
            self.after(pause_s, self._turn)

    def _give_up(self, core: Core) -> None:
        self._given_up = True
        given_up = core.give_up(self.now_s)
        if given_up:
            # The process ends now: what runs is handed back while it still runs, to run again.
            self._ledger.journal.lost_s.setdefault(core.life.epoch, self.now_s)
            self._say(f"gives up {given_up} running jobs")
        self._turn()

    def _release(self, *, drain: bool) -> None:
        assert self.core is not None
        lease_ms = int(self._settings.lease_s * 1000) if drain else 0
        verb = own.release(self.core.life, drain_lease_ms=lease_ms)

        def heed(answer: Answer) -> None:
            try:
                if isinstance(answer, QueuePoolError):
                    raise answer
                verb.read(answer[0])
            except UnavailableError:
                pass
            except FencedError:
                self.kill()
                return
            else:
                self._released = self._bell_closed = True
            if drain:
                self.after(0.0, self._turn)
            else:
                self.kill()

        self._call([verb], heed)

    def _leave(self) -> None:
        self._release(drain=False)

    # -- the way out -------------------------------------------------------------------------------

    def _call(self, verbs: Any, heed: Callable[[Answer], None]) -> None:
        self._calling = True

        def heard(answer: Answer) -> None:
            self._calling = False
            heed(answer)

        self._network.call(self, [(self._ledger.key, verb) for verb in verbs], heard)

    def _say(self, what: str) -> None:
        self._ledger.journal.note(self.now_s, self.name, what)
