"""Verifies the route record in the background, so that it delays nothing; follows it later.

An attempt runs in its own thread or task. The first call of a pool waits for it; while the server
that keeps the record is down, calls proceed without an answer, and later ones see the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from queuepool.errors import ConfigurationError, QueuePoolError, UnavailableError
from queuepool.models import RouteRecord
from queuepool.partitions.route import Answer, Call, Leave, Verification, asking
from queuepool.servers import AsyncPort, Port
from queuepool.settings.config import PoolConfig

_OTHER_SERVER_S = 1.0  # of a server that the call itself may not need


class Verifier:
    """The verification of a pool for threads. `state.verified` is for its hot path."""

    def __init__(self, config: PoolConfig, servers: Mapping[str, Port]) -> None:
        self._config, self._servers = config, servers
        self.state = Verification()
        self._attempt: _Attempt | None = None

    def verify(self, leave: Leave = Leave.LOOK) -> None:
        """Raise ConfigurationError when the record contradicts the config.

        Returns if it does not, or if it cannot be read now. It asks until verified, and
        costs nothing from then on.
        """
        state, attempt = self.state, self._attempt
        if state.verified:
            return
        if attempt is not None and attempt.under_way():
            attempt.done.wait(_wait_s(self._config, state))
        elif state.due(monotonic()):
            attempt = self._attempt = _Attempt(lambda: self._try(leave))
            attempt.begin()
            attempt.done.wait(_wait_s(self._config, state))
        if state.refusal is not None:
            raise _anew(state.refusal)

    def follow(self) -> None:
        """Read the record, and route by it from now on. Raises QueuePoolError."""
        self._ask(Leave.LOOK)

    def read(self, leave: Leave = Leave.LOOK) -> RouteRecord | None:
        """Ask once, in this thread; return the record, None when there is none.

        Raises ConfigurationError, or another QueuePoolError when it cannot be read.
        """
        return self.ask(leave).record

    def ask(self, leave: Leave) -> Answer:
        """Do as read; return also which servers are silent that the maker did not hear either."""
        try:
            answer = self._ask(leave)
        except QueuePoolError as error:
            self.state.conclude(error, monotonic())
            raise
        self.state.conclude(answer, monotonic())
        return answer

    def _try(self, leave: Leave) -> None:
        with contextlib.suppress(QueuePoolError):  # the state knows
            self.read(leave)

    def _ask(self, leave: Leave) -> Answer:
        began_s, steps = monotonic(), asking(self._config, leave)
        calls = next(steps)
        while True:
            try:
                calls = steps.send(run_each(self._servers, calls, apart=True))
            except StopIteration as end:
                self.state.read_s = max(self.state.read_s, began_s)
                return end.value  # type: ignore[no-any-return]


class _Attempt:
    """One attempt on its own thread, or on the caller's if none can be started."""

    def __init__(self, work: Any) -> None:
        self._work, self._pid = work, os.getpid()
        self.done = threading.Event()

    def begin(self) -> None:
        try:
            # A daemon, so that a hanging server does not keep the process from exiting.
            threading.Thread(target=self._run, name="queuepool-route", daemon=True).start()
        except RuntimeError:  # no more threads, or the interpreter is shutting down
            self._run()

    def under_way(self) -> bool:
        # A thread does not survive a fork: it would never answer.
        return not self.done.is_set() and self._pid == os.getpid()

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self.done.set()


class AsyncVerifier:
    """The verification of a pool for the tasks of one event loop."""

    def __init__(self, config: PoolConfig, servers: Mapping[str, AsyncPort]) -> None:
        self._config, self._servers = config, servers
        self.state = Verification()
        self._task: asyncio.Task[None] | None = None

    async def verify(self, leave: Leave) -> None:
        """Raise ConfigurationError if the record contradicts the config, like Verifier.verify."""
        state, task = self.state, self._task
        if state.verified:
            return
        here = asyncio.get_running_loop()
        if task is None or task.done() or task.get_loop() is not here:
            task = None
            if state.due(monotonic()):
                task = self._task = here.create_task(self._try(leave))
        if task is not None:
            await asyncio.wait({task}, timeout=_wait_s(self._config, state))
        if state.refusal is not None:
            raise _anew(state.refusal)

    async def follow(self) -> None:
        """Read the record, and route by it from now on. Raises QueuePoolError."""
        await self._ask(Leave.LOOK)

    async def close(self) -> None:
        """End an attempt in progress. Idempotent."""
        task, self._task = self._task, None
        if task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait({task}, timeout=_OTHER_SERVER_S)

    async def _try(self, leave: Leave) -> None:
        outcome: Answer | QueuePoolError
        try:
            outcome = await self._ask(leave)
        except QueuePoolError as error:
            outcome = error
        self.state.conclude(outcome, monotonic())

    async def _ask(self, leave: Leave) -> Answer:
        steps = asking(self._config, leave)
        try:
            calls = next(steps)
            while True:
                calls = steps.send(await self._replies(calls))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _replies(self, calls: Sequence[Call]) -> list[Any]:
        """Return one reply each, in order; a server that is away is asked once."""
        replies: list[Any] = []
        away: dict[str, UnavailableError] = {}
        for name, key, verb in calls:
            if name not in away:
                try:
                    replies += await self._servers[name].run(key, [verb])
                    continue
                except UnavailableError as error:
                    away[name] = error
            replies.append(away[name])
        return replies


def run_each(
    servers: Mapping[str, Port], calls: Sequence[Call], *, apart: bool = False
) -> list[Any]:
    """Run calls in one round trip per server; return one reply each, in order.

    apart: a server that is away costs its own replies only, which are the error; else it is raised.
    """
    replies: list[Any] = [None] * len(calls)
    for name, server in servers.items():
        places = [i for i, call in enumerate(calls) if call[0] == name]
        try:
            answers = server.run_many([calls[i][1:] for i in places]) if places else []
        except UnavailableError as error:
            if not apart:
                raise
            answers = [error] * len(places)
        for i, answer in zip(places, answers, strict=True):
            replies[i] = answer
    return replies


def _wait_s(config: PoolConfig, state: Verification) -> float:
    if len(config.topology.servers) == 1:
        return config.timeout_s  # it holds the jobs, too: nothing works without it
    return _OTHER_SERVER_S if state.answered else 0.0


def _anew(error: ConfigurationError) -> ConfigurationError:
    # A new one each time: a traceback would grow with every raise, and keep frames alive.
    return type(error)(str(error))
