"""Where a process has its pid: containers of one host may have the same host name and pids."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path


def pid_namespace() -> str:
    """Return the number of the namespace of this process's pid, "" if the system has none."""
    try:
        found = re.fullmatch(r"pid:\[([0-9]{1,20})\]", str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return ""
    return found[1] if found else ""


def has_ended(host: str, namespace: str) -> bool:
    """Return whether an owner, `host:pid`, was a process here that has ended.

    namespace: of its pid; where that is unknown, nothing is sure. The pid may be ours by now.
    """
    name, _, pid = host.rpartition(":")
    here = name == socket.gethostname() and namespace != "" and namespace == pid_namespace()
    if not here or not re.fullmatch("[1-9][0-9]{0,9}", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return int(pid) == os.getpid()
