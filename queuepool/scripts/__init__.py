"""The Lua scripts: one verb each, with its contract at the top of the file.

What several scripts do is written once, in `parts`. A line of a script names those it uses, and
they stand in its place when the script is loaded; each once a script, and first what they use:

    -- uses: fence, end_cancelled
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files

_USES = re.compile(rb"^-- uses: (.+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """One script as the server knows it: by the SHA-1 of its source, its parts included."""

    name: str
    source: bytes
    sha: bytes


def named(name: str, source: bytes) -> Script:
    """Return a script of that name and source."""
    return Script(name, source, sha1(source, usedforsecurity=False).hexdigest().encode())


@cache
def script(name: str) -> Script:
    """Return the script of that name."""
    return named(name, _joined(f"{name}.lua", set()))


def names() -> list[str]:
    """Return the names of all scripts, sorted."""
    return sorted(f.name[:-4] for f in files(__name__).iterdir() if f.name.endswith(".lua"))


def _joined(path: str, used: set[bytes]) -> bytes:
    """Return a file with the parts that it uses in their places. used: those that stand already."""

    def parts(line: re.Match[bytes]) -> bytes:
        text = b""
        for part in line[1].split(b", "):
            if part not in used:
                used.add(part)
                text += _joined(f"parts/{part.decode()}.lua", used)
        return text

    return _USES.sub(parts, files(__name__).joinpath(path).read_bytes())
