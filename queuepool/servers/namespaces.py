"""Where a process has its pid: containers of one host may have the same host name and pids."""

from __future__ import annotations

import re
from pathlib import Path


def pid_namespace() -> str:
    """Return the number of the namespace of this process's pid, "" if the system has none."""
    try:
        found = re.fullmatch(r"pid:\[([0-9]{1,20})\]", str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return ""
    return found[1] if found else ""
