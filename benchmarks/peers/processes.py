"""Processes of a run, seen through /proc: their CPU time, and ending all of them.

A worker command is started in a session of its own; every process it starts belongs to that
session, also when its parent dies first. Linux only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_END_S = 10.0


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    return _stat(pid)[0]


def session_cpu_s(leaders: Iterable[int]) -> float:
    """Return the CPU seconds of whole sessions."""
    return sum(_members(frozenset(leaders)).values())


def machine_busy_s() -> float:
    """Return the CPU seconds that the machine has spent on anything since it started."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / _TICKS_PER_S


def queued_s(pids: Iterable[int]) -> float:
    """Return the seconds that threads of these processes could run and waited for a core."""
    queued_ns = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended
                queued_ns += int((task / "schedstat").read_text().split()[1])
    return queued_ns / 1e9


def end_sessions(leaders: Iterable[subprocess.Popen[bytes]]) -> None:
    """Kill every process of the sessions at once and reap the leaders."""
    processes = list(leaders)
    sessions = frozenset(process.pid for process in processes)
    deadline = time.monotonic() + _END_S
    while members := _members(sessions):
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            process.poll()
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {sorted(members)} outlive SIGKILL")
        time.sleep(0.01)
    for process in processes:
        process.wait()


def _members(sessions: frozenset[int]) -> dict[int, float]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                seconds, session, state = _stat(int(entry.name))
                # A zombie that is not ours waits for a parent; it does nothing any more.
                if session in sessions and (state != "Z" or int(entry.name) in sessions):
                    found[int(entry.name)] = seconds
    return found


def _stat(pid: int) -> tuple[float, int, str]:
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()  # a name may hold spaces and brackets
    return sum(map(int, fields[11:15])) / _TICKS_PER_S, int(fields[3]), fields[0]
