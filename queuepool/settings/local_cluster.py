"""The state file of `queuepool up`: how commands run in the same directory find the cluster.

.queuepool/cluster.json    written when the cluster starts and when its coordinator gets another
                           address; removed when it stops
.queuepool/data/           the embedded server's files: jobs survive a restart

The state file holds the server's password and the coordinator's token, and determines where other
commands connect. So only its owner may access it, and a file that others can write to is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from queuepool.errors import ConfigurationError
from queuepool.settings import private_files as private

STATE_DIR = Path(".queuepool")
_FILE = "cluster.json"
_MOST_BYTES = 1024 * 1024
_TEXTS = ("placement", "stage", "queue")
_LATER = ("web_address", "web_token")  # which earlier versions do not write
_TEXTS_OR_NONE = ("grpc_address", "grpc_token", *_LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCluster:
    """What a command needs to know about the cluster in this directory.

    grpc_token: of operators, for that address only; None: none is required. web_address: of the
    page, None while there is none; web_token: to sign in there.
    """

    pid: int
    servers: Mapping[str, str] = field(repr=False)  # URLs hold passwords
    placement: str
    partitions: int
    stage: str
    queue: str
    grpc_address: str | None  # None until the coordinator listens
    grpc_token: str | None = field(default=None, repr=False)
    web_address: str | None = None
    web_token: str | None = field(default=None, repr=False)

    def is_running(self) -> bool:
        """Return whether the process that wrote the file is alive."""
        if self.pid < 1:  # to the kernel these mean process groups
            raise ValueError(f"pid {self.pid}")
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, PermissionError):  # the file is ours, so its writer was, too
            return False
        return True


def write(cluster: LocalCluster, directory: Path = STATE_DIR) -> None:
    """Write the state file, accessible only to its owner. Raises UnsafePathError, OSError."""
    private.make_directory(directory)
    private.replace(directory, _FILE, json.dumps(asdict(cluster), indent=1).encode())


def read(directory: Path = STATE_DIR) -> LocalCluster | None:
    """Return the cluster running in this directory, or None. Raises ConfigurationError."""
    if not hasattr(os, "geteuid"):  # no one runs `queuepool up` there
        return None
    path = directory / _FILE
    try:
        content = private.read(directory, _FILE, limit=_MOST_BYTES)
        cluster = None if content is None else _parsed(content)
        return cluster if cluster is not None and cluster.is_running() else None
    except (ValueError, OverflowError, RecursionError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{path} cannot be read ({why}); remove it") from error


def remove(directory: Path = STATE_DIR) -> None:
    """Remove the state file; a missing one is fine."""
    private.remove(directory, _FILE)


def _parsed(content: bytes) -> LocalCluster:
    """Parse a state file. Raises ValueError, which quotes nothing of it."""
    found: Any = json.loads(content)
    if not isinstance(found, dict) or not _has_right_types(found):
        raise ValueError("it is not a state file of this version of `queuepool up`")
    return LocalCluster(**found)


def _has_right_types(found: dict[str, Any]) -> bool:
    servers = found.get("servers")
    return (
        found.keys() - {"grpc_token", *_LATER}
        == {"pid", "partitions", "servers", "grpc_address", *_TEXTS}
        and all(type(found[name]) is int for name in ("pid", "partitions"))
        and all(_is_text(found[name]) for name in _TEXTS)
        and all(found.get(name) is None or _is_text(found[name]) for name in _TEXTS_OR_NONE)
        and isinstance(servers, dict)
        and all(map(_is_text, (*servers, *servers.values())))
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()
