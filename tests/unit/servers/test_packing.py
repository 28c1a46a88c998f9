"""Packing of calls, with signals that come at any moment."""

from __future__ import annotations

import subprocess
import sys

_INTERRUPTED = """
import signal
from queuepool.servers import wire

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
words = [b"SET", *range(10**6, 10**6 + 200)]
for n in range(100):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        while True:
            wire.pack_words(words)
    except KeyboardInterrupt:
        print(n)
"""


def test_ctrl_c_while_a_call_is_packed_ends_no_process() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], check=False, capture_output=True, timeout=60
    )

    assert (run.returncode, len(run.stdout.split())) == (0, 100)
