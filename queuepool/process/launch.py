"""Start a consumer or coordinator process: run by its path, as a separate program.

    python -P launch.py [--forks] [--tied-to PID] consumer --app rows --partition auto

Unlike with `python -m consumer`, a file named consumer.py in the user's directory cannot replace
the real one; the directory is added to the path only afterwards, so that --app finds the user's
modules. Until the program handles signals itself, SIGTERM and SIGINT end it at once. With
--tied-to, the process gets SIGTERM when the parent ends, even by SIGKILL. With --forks, it only
imports the program, and forks children that run it (see `queuepool.process.fork_server`).
"""

from __future__ import annotations

import contextlib
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
    fill_standard_files()
    forks = words[:1] == ["--forks"]
    end_on_signals(watching=not forks)  # a process with threads had better not fork
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
        with contextlib.suppress(FileNotFoundError):  # it was removed: modules may be elsewhere
            sys.path.insert(0, str(Path.cwd()))
    sys.argv = [f"queuepool {name}", *arguments]
    return int(process.main(arguments))


def fill_standard_files() -> None:
    """Open the null device for each standard file that is closed, here and for children.

    Otherwise the next connection gets the number, and with it what is written to standard error.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_RDWR)
        try:
            os.fstat(number)
        except OSError:  # nobody has taken it yet
            os.dup2(opened, number)
            os.close(opened)
            opened = number
        os.set_inheritable(opened, opened == number)
        setattr(sys, name, os.fdopen(opened, mode, closefd=False))


def end_on_signals(*, watching: bool = True) -> None:
    """End this process on SIGTERM or SIGINT from now on: it has nothing yet that it must give back.

    By default the kernel does so for SIGTERM, also in the middle of a long call, where a handler
    would wait for the end of it. But the first process of a container gets no signal without a
    handler. watching: a thread sees signals, so that they need not wait. Also unblocks signals,
    which the program before this one may have kept for it.
    """
    ends = EndsStart()
    for number in _STOPPING if os.getpid() == 1 else (signal.SIGINT,):
        signal.signal(number, ends)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=ends.look_away, after_in_parent=ends.look_back, after_in_child=ends.leave
        )
    if watching:
        with contextlib.suppress(OSError, RuntimeError):  # no descriptor, or no thread, is left
            ends.watch()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)


class EndsStart:
    """The handler of a process that starts. Its forks have defaults, as their parent expects.

    Python calls it between two steps of the main thread: not within a long call, nor within one
    that has just begun to wait when the signal comes. So a thread waits for signals as well, until
    the program handles them itself.

    of_start: tells it from other handlers, also where this file is a program and a module.
    """

    of_start = True

    def __init__(self) -> None:
        self._own = os.getpid()
        self._pipe: tuple[OwnDescriptor, OwnDescriptor] | None = None  # its reader and writer
        self._away = True  # it is ours to have Python write the numbers of signals there again

    def watch(self) -> None:
        """Start the thread. Raises OSError or RuntimeError if that cannot be."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self._pipe = OwnDescriptor(reader), OwnDescriptor(writer)
        watcher = threading.Thread(
            target=self._read, args=self._pipe[:1], name="start", daemon=True
        )
        try:
            watcher.start()
        except RuntimeError:
            self._close()
            raise
        self.look_back()

    def _read(self, reader: OwnDescriptor) -> None:
        with contextlib.suppress(OSError):  # closed by others
            while reader.is_open() and (number := os.read(reader.number, 1)):
                if self._handles(number[0]):
                    os._exit(0)
        reader.close()

    def _handles(self, number: int) -> bool:
        return signal.getsignal(number) is self

    def look_away(self) -> None:
        """Before a fork: a signal for the child is none for this process."""
        if self._pipe is not None:
            with contextlib.suppress(ValueError, OSError):  # not in the main thread; closed
                other = signal.set_wakeup_fd(-1)
                self._away = other == self._pipe[1].number
                if not self._away:
                    signal.set_wakeup_fd(other, warn_on_full_buffer=False)

    def look_back(self) -> None:
        """Watch again, unless somebody else does, or has ended the watch."""
        if self._away and self._pipe is not None and self._pipe[1].is_open():
            with contextlib.suppress(ValueError, OSError):
                other = signal.set_wakeup_fd(self._pipe[1].number, warn_on_full_buffer=False)
                if other not in (-1, self._pipe[1].number):
                    signal.set_wakeup_fd(other, warn_on_full_buffer=False)

    def rest(self) -> None:
        """End the thread: the program handles signals itself. Idempotent."""
        self.look_away()
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe[1].close()

    def __call__(self, number: int, _frame: object) -> None:
        if os.getpid() == self._own:
            os._exit(0)  # an exception could be caught by a module that is being imported
        self.leave()  # in a fork, just before that would have happened
        os.kill(os.getpid(), number)

    def leave(self) -> None:
        """Restore the defaults where this is the handler, in a fork, which has no thread."""
        for number in _STOPPING:
            if self._handles(number):
                signal.signal(number, default_of(number))
        self._close()

    def _close(self) -> None:
        self.look_away()
        pipe, self._pipe = self._pipe, None
        for end in pipe or ():
            end.close()


class OwnDescriptor:
    """A descriptor of ours that others may close. Its number may then be that of their file."""

    def __init__(self, number: int) -> None:
        """Raise OSError if it is not open."""
        self.number = number
        self._file = os.fstat(number)

    def is_open(self) -> bool:
        """Return whether the number still is that of our file."""
        try:
            return os.path.samestat(os.fstat(self.number), self._file)
        except OSError:
            return False

    def close(self) -> None:
        """Close it unless others did. Idempotent."""
        with contextlib.suppress(OSError):  # closed by another thread just now
            if self.is_open():
                os.close(self.number)


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
