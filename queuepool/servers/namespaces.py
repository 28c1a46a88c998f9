"""Where a process has its pid: machines and containers may share host names and pids."""

from __future__ import annotations

import os
import re
import socket
from hashlib import blake2b
from pathlib import Path

_PROC = Path("/proc")


def pid_namespace() -> str:
    """Return a number of the boot and namespace in which this process has its pid, "" if unknown.

    The boot tells machines apart: the first namespace has the same number on each of them.
    """
    try:
        namespace = os.fsencode((_PROC / "self/ns/pid").readlink())
        boot = (_PROC / "sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return ""
    if not (re.fullmatch(rb"pid:\[[0-9]+\]", namespace) and re.fullmatch(rb"[0-9a-f-]{36}", boot)):
        return ""
    digest = blake2b(boot + namespace, digest_size=8).digest()
    return str(int.from_bytes(digest, "big"))  # a lifeline has room for 20 digits


def has_ended(host: str, namespace: str) -> bool:
    """Return whether an owner, `host:pid`, was a process here that has ended.

    namespace: of its pid, see pid_namespace; where that is unknown, or only the number that older
    releases tell, nothing is sure. The pid may be ours by now.
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
