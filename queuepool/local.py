"""The state file of `queuepool up`: how commands run in the same directory find the cluster.

.queuepool/cluster.json    written when the cluster starts and when its coordinator answers at
                           another address; removed when it stops
.queuepool/data/           the embedded server's files: jobs outlive a restart
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from queuepool.errors import ConfigurationError

STATE_DIR = Path(".queuepool")
_FILE = "cluster.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCluster:
    """What a command needs to know of the cluster in this directory."""

    pid: int
    servers: Mapping[str, str] = field(repr=False)  # URLs may hold passwords
    placement: str
    partitions: int
    stage: str
    queue: str
    grpc_address: str | None  # None until the coordinator listens

    def is_running(self) -> bool:
        """Return whether the process that wrote the file lives."""
        if self.pid < 1:  # these mean groups of processes to the kernel
            raise ValueError(f"pid {self.pid}")
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True


def write(cluster: LocalCluster, directory: Path = STATE_DIR) -> None:
    """Write the state file, readable by its owner only: a URL may hold a password."""
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / f"{_FILE}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(cluster), file, indent=1)
    temporary.replace(directory / _FILE)


def read(directory: Path = STATE_DIR) -> LocalCluster | None:
    """Return the cluster running in this directory, or None. Raises ConfigurationError."""
    path = directory / _FILE
    try:
        cluster = LocalCluster(**json.loads(path.read_text()))
        return cluster if cluster.is_running() else None
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise ConfigurationError(f"{path} cannot be read ({error}); remove it") from error


def remove(directory: Path = STATE_DIR) -> None:
    """Remove the state file; a missing one is fine."""
    (directory / _FILE).unlink(missing_ok=True)
