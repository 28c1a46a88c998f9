"""The Lua scripts: one verb each, with its contract at the top of the file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    """One script as the server knows it: by the SHA-1 of its source."""

    name: str
    source: bytes
    sha: bytes


@cache
def script(name: str) -> Script:
    """Return the script of that name."""
    source = files(__name__).joinpath(f"{name}.lua").read_bytes()
    return Script(name, source, sha1(source, usedforsecurity=False).hexdigest().encode())


def names() -> list[str]:
    """Return the names of all scripts, sorted."""
    return sorted(f.name[:-4] for f in files(__name__).iterdir() if f.name.endswith(".lua"))
