"""An environment for each peer, made when it is first needed.

    FOLDER/celery-1f0c.../          the name ends in a digest of what is installed
                          complete  written last; without it the folder is made again

Raises PeerError, naming the remedy, when a program is missing or an installation fails.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PINS = Path(__file__).with_name("pins.toml")
_INSTALL_S = 900


class PeerError(Exception):
    """A peer cannot be measured; the message names the remedy."""


def default_folder() -> Path:
    """Return where environments are kept: below the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "queuepool-bench"


def read_pins(path: Path = PINS) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the packages of each environment by ("python" or "node", name)."""
    document: Mapping[str, Mapping[str, Any]] = tomllib.loads(path.read_text())
    return {
        (kind, name): tuple(entry["packages"])
        for kind, entries in document.items()
        for name, entry in entries.items()
    }


def program(name: str, package: str) -> str:
    """Return the path of a program, or say which Debian package brings it."""
    found = shutil.which(name)
    if found is None:
        raise PeerError(f"{name} is not on PATH. On Debian: apt-get install {package}")
    return found


def folder_name(kind: str, name: str, packages: Sequence[str]) -> str:
    """Return a name that changes with everything that shapes the environment."""
    version = sys.version.split()[0] if kind == "python" else "node"
    digest = hashlib.sha256("\n".join((version, *packages)).encode()).hexdigest()
    return f"{name}-{digest[:12]}"


def prepare(kind: str, name: str, folder: Path) -> list[str]:
    """Return the interpreter's command line in an environment, after making it if need be."""
    packages = read_pins()[kind, name]
    home = folder / folder_name(kind, name, packages)
    if kind == "node":
        interpreter = [program("node", "nodejs")]
        program("npm", "npm")
    else:
        interpreter = [str(home / "bin" / "python")]
    if not (home / "complete").exists():
        print(f"making the environment of {name} in {home}", file=sys.stderr, flush=True)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        if kind == "node":
            _npm(home, packages)
        else:
            _venv(home, packages)
        (home / "complete").write_text("\n".join(packages) + "\n")
    return interpreter


def modules_of(kind: str, name: str, folder: Path) -> Path:
    """Return the folder of the installed Node modules."""
    return folder / folder_name(kind, name, read_pins()[kind, name]) / "node_modules"


def _venv(home: Path, packages: Sequence[str]) -> None:
    _run([sys.executable, "-m", "venv", str(home)], home)
    pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--no-deps", *packages], home)


def _npm(home: Path, packages: Sequence[str]) -> None:
    (home / "package.json").write_text('{"private": true}\n')
    flags = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"]
    _run([program("npm", "npm"), "install", *flags, *packages], home)


def _run(command: list[str], home: Path) -> None:
    done = subprocess.run(
        command, cwd=home, capture_output=True, text=True, timeout=_INSTALL_S, check=False
    )
    if done.returncode:
        raise PeerError(
            f"`{' '.join(command[:4])} ...` ended with {done.returncode} in {home}. The folder is "
            f"incomplete and will be rebuilt next time.\n{done.stderr[-2000:]}"
        )
