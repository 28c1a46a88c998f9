"""Start a consumer or coordinator process: run by its path, as a program of its own.

    python -P launch.py [--tied-to PID] consumer --app rows --partition auto

Run this way, and not as `python -m consumer`, a file named consumer.py in the user's directory
cannot take the place of the real one; the directory comes onto the path only afterwards, where
--app finds the user's modules. Tied to a parent, the process is told to end (SIGTERM) when the
parent ends, even by SIGKILL.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def main(words: list[str]) -> int:
    """Become the named process; returns its exit code."""
    if words[:1] == ["--tied-to"]:
        tie_to(int(words[1]))
        words = words[2:]
    if importlib.util.find_spec("queuepool") is None:  # run from a checkout, not installed
        sys.path.append(str(Path(__file__).resolve().parents[2]))
    name, *arguments = words
    process = importlib.import_module(f"{name}.__main__")
    if name == "consumer":  # the coordinator needs nothing of the directory it is started in
        sys.path.insert(0, str(Path.cwd()))
    sys.argv = [f"queuepool {name}", *arguments]
    return int(process.main(arguments))


def tie_to(parent: int) -> None:
    """Have SIGTERM sent to this process when its parent ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    else:  # no kernel tells us: look, once a second
        threading.Thread(target=_look_for, args=(parent,), name="parent", daemon=True).start()
    if os.getppid() != parent:  # it ended before we could ask to be told
        sys.exit("the process that started this one has ended")


def _look_for(parent: int) -> None:
    pause = threading.Event()
    while os.getppid() == parent:
        pause.wait(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
