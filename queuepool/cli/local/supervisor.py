"""Keeps child processes running: an exit is reported and followed by a restart.

    supervisor = Supervisor([Spec("consumer-0", [...], {...}), ...], Path("logs"), print)
    supervisor.start()
    while not stopping: supervisor.step(); ...
    supervisor.stop(["consumer-0"], timeout_s=30, hurry=lambda: False)

One thread calls everything, and it must be the main one: children are notified when their parent
ends, and the kernel ties that to the thread that started them.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from queuepool.cli.local.child_logs import LineBudget, LogFile
from queuepool.errors.escaping import visible
from queuepool.process.children import Child, start_program
from queuepool.process.endings import CONFIGURATION
from queuepool.process.forks import Forks
from queuepool.process.restarts import Restarts

Say = Callable[[str], None]

_ALL_SAID_S = 15.0  # a child without complaints by then can start
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Spec:
    """One child: its name for people, its command and its environment.

    alike: whether the first start of all such children may fork them from one process.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    alike: bool = False


class HopelessChildError(Exception):
    """A child reported that its configuration is wrong: restarting cannot help."""


@dataclass(slots=True)
class _Child:
    spec: Spec
    log: LogFile
    process: Child | None = None
    started_s: float = 0.0
    restarts: Restarts = field(default_factory=Restarts)
    budget: LineBudget = field(default_factory=LineBudget)


def _undecided(child: _Child) -> bool:
    """Return whether a child may still reject its configuration: it has not logged INFO yet."""
    young = time.monotonic() - child.started_s < _ALL_SAID_S
    alive = child.process is not None and child.process.poll() is None
    return young and alive and "info" not in "\n".join(child.log.last_lines(20)).lower()


class Supervisor:
    """Starts children, restarts those that exit, shows important lines of their logs."""

    def __init__(self, specs: Sequence[Spec], log_dir: Path, say: Say) -> None:
        self._say = say
        self._children = {s.name: _Child(s, LogFile(log_dir / f"{s.name}.log")) for s in specs}

    def start(self) -> None:
        """Start all children; call once. Those that are alike come last, from one fork server."""
        alike = [child for child in self._children.values() if child.spec.alike]
        others = [child for child in self._children.values() if not child.spec.alike]
        with self._forks(alike) as forks:
            for child in (*others, *alike):
                self._spawn(child, forks if child.spec.alike else None)

    @staticmethod
    def _forks(alike: Sequence[_Child]) -> AbstractContextManager[Forks | None]:
        if not alike:
            return nullcontext()
        first = alike[0]
        with first.log.open() as log:
            spec = first.spec
            return closing(Forks(spec.command, spec.environment, len(alike), output=log))

    def pids(self) -> dict[str, int]:
        """Return the process ids of the children that run now, by name."""
        return {name: c.process.pid for name, c in self._children.items() if c.process is not None}

    def ready(self, name: str) -> str:
        """Return a child's latest announcement of its address: "ready grpc=..."."""
        return self._children[name].log.ready

    def step(self) -> None:
        """Show news, note exits, restart what is due. Raises HopelessChildError."""
        now_s = time.monotonic()
        for child in self._children.values():
            self._show(child)
            if child.process is None:
                if now_s >= child.restarts.due_s:
                    self._restart(child, now_s)
                continue
            code = child.process.poll()
            if code is None:
                continue
            child.process = None
            self._show(child)
            has_owned = child.log.has_owned
            child.log.forget()  # another process may listen at its address now
            if code == CONFIGURATION and not has_owned:  # a handler may end its process with any
                raise HopelessChildError(self._why_hopeless(child))
            self._schedule(child, code, now_s)

    def _why_hopeless(self, first: _Child) -> str:
        """Return the messages of all children that cannot start: their problems may differ."""
        others = [c for c in self._children.values() if c.process is not None]
        pause = threading.Event()
        while any(map(_undecided, others)):
            pause.wait(_POLL_S)
        messages: dict[str, str] = {}  # message -> the first child with it
        for child in (first, *others):
            if child is first or (child.process and child.process.poll() == CONFIGURATION):
                messages.setdefault("\n".join(child.log.last_lines(20)), child.spec.name)
        return "\n".join(f"{name} cannot start:\n{text}" for text, name in messages.items())

    def _schedule(self, child: _Child, code: int, now_s: float) -> None:
        if code > 0:
            for line in child.log.last_lines(3):
                self._say(f"{child.spec.name}| {line}")
        said = child.restarts.after_exit(code, ran_s=now_s - child.started_s, now_s=now_s)
        self._say(f"{child.spec.name} {said} (log: {child.log.path})")

    def _restart(self, child: _Child, now_s: float) -> None:
        try:
            self._spawn(child)
        except OSError as error:  # too many processes or files, no memory: the others run on
            self._say(f"{child.spec.name} {child.restarts.after_refusal(error, now_s=now_s)}")

    def _spawn(self, child: _Child, forks: Forks | None = None) -> None:
        # Ctrl-C is for us alone; we stop the children in order
        start, spec = forks.start if forks else start_program, child.spec
        with child.log.open() as log:
            child.process = start(spec.command, spec.environment, output=log, quiet=True)
        child.started_s = time.monotonic()

    def _show(self, child: _Child) -> None:
        lines, left_out = child.budget.admit(child.log.important(), time.monotonic())
        if left_out:
            self._say(f"{child.spec.name}| {left_out:,} similar lines are in {child.log.path}")
        for line in lines:
            self._say(f"{child.spec.name}| {visible(line)[:500]}")

    def stop(
        self, names: Collection[str], *, timeout_s: float, hurry: Callable[[], bool]
    ) -> list[str]:
        """Ask children to end, wait, and kill those that do not; returns the names of the killed.

        hurry: polled all the time; once it returns true, waiting ends.
        """
        chosen = [self._children[name] for name in names]
        for child in chosen:
            child.restarts.due_s = float("inf")
            if child.process is not None and child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        deadline, pause = time.monotonic() + timeout_s, threading.Event()
        while self._alive(chosen) and time.monotonic() < deadline and not hurry():
            for child in chosen:
                self._show(child)
            pause.wait(_POLL_S)
        killed = self._alive(chosen)
        for child in killed:
            if child.process is not None:
                child.process.send_signal(signal.SIGKILL)
        for child in chosen:
            if child.process is not None:
                child.process.wait()
                child.process = None
            self._show(child)
        return [child.spec.name for child in killed]

    @staticmethod
    def _alive(children: Sequence[_Child]) -> list[_Child]:
        return [c for c in children if c.process is not None and c.process.poll() is None]
