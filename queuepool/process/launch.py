"""Start a consumer or coordinator process: run by its path, as a separate program.

    python -P launch.py [--forks] [--tied-to PID] consumer --app rows --partition auto

Unlike with `python -m consumer`, a file named consumer.py in the user's directory cannot replace
the real one; the directory is added to the path only afterwards, so that --app finds the user's
modules. Until the program handles signals itself, SIGTERM and SIGINT end it at once. With
--tied-to, the process gets SIGTERM when the parent ends, even by SIGKILL. With --forks, it only
imports the program, and forks children that run it (see `queuepool.process.fork_server`).
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_STOPPING = (signal.SIGTERM, signal.SIGINT)


def main(words: list[str]) -> int:
    """Become the named process; returns its exit code."""
    end_on_signals()
    forks = words[:1] == ["--forks"]
    if forks:
        words = words[1:]
    if words[:1] == ["--tied-to"]:
        tie_to(int(words[1]))
        words = words[2:]
    if importlib.util.find_spec("queuepool") is None:  # run from a checkout, not installed
        sys.path.append(str(Path(__file__).resolve().parents[2]))
    name, *arguments = words
    gc.disable()  # modules are no garbage: looking for some among them is a tenth of the start
    process = importlib.import_module(f"{name}.__main__")
    gc.freeze()
    if forks:
        server = importlib.import_module("queuepool.process.fork_server")
        return main(server.serve())  # in a child
    gc.enable()
    if name == "consumer":  # the coordinator needs nothing from the current directory
        sys.path.insert(0, str(Path.cwd()))
    sys.argv = [f"queuepool {name}", *arguments]
    return int(process.main(arguments))


def end_on_signals() -> None:
    """End this process on SIGTERM or SIGINT from now on: it has nothing yet that it must give back.

    By default the kernel does so for SIGTERM, also in the middle of a long call, where a handler
    would wait for the end of it. But the first process of a container gets no signal without a
    handler. Also unblocks signals, which the program before this one may have kept for it.
    """
    ends = EndsStart()
    for number in _STOPPING if os.getpid() == 1 else (signal.SIGINT,):
        signal.signal(number, ends)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=ends.leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)


class EndsStart:
    """The handler of a process that starts. Its forks have defaults, as their parent expects.

    of_start: tells it from other handlers, also where this file is a program and a module.
    """

    of_start = True

    def __init__(self) -> None:
        self._own = os.getpid()

    def __call__(self, number: int, _frame: object) -> None:
        if os.getpid() == self._own:
            os._exit(0)  # an exception could be caught by a module that is being imported
        self.leave()  # in a fork, just before that would have happened
        os.kill(os.getpid(), number)

    def leave(self) -> None:
        """Restore the defaults where this is the handler."""
        for number in _STOPPING:
            if signal.getsignal(number) is self:
                signal.signal(number, default_of(number))


def default_of(number: int) -> Any:
    """Return the handler that Python sets for a signal."""
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


def keep_signals() -> None:
    """Keep SIGTERM and SIGINT for the program that replaces this one, until it handles them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)


def tie_to(parent: int) -> None:
    """Have SIGTERM sent to this process when its parent ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    else:  # the kernel does not notify us: check once a second
        threading.Thread(target=_look_for, args=(parent,), name="parent", daemon=True).start()
    if os.getppid() != parent:  # it ended before we could register
        sys.exit("the process that started this one has ended")


def _look_for(parent: int) -> None:
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
