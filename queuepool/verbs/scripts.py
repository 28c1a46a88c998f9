"""The Lua scripts: one verb each, beside its wrapper, with its contract at the top of the file.

All of them are read when this module is imported, and never again.

What several scripts do is written once, in `parts`. A line of a script names those it uses, and is
replaced by them when the script is loaded: each once per script, after those that it uses itself:

    -- uses: fence, end_cancelled

An indented line includes parts only for the block around it.

The phases of a long script are also parts, in a folder named after it: `claim/plan`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

PARTS = "parts/"  # the other folders are named after who calls what is in them
_USES = re.compile(rb"^( *)-- uses: (.+)\n", re.MULTILINE)
_FIELD = r"^-- %s +(.*(?:\n--  +.*)*)"  # continues in lines that are indented
_LINE = re.compile(rb"^(?=.)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """One script as the server knows it: by the SHA-1 of its source, its parts included."""

    name: str
    source: bytes
    sha: bytes

    @property
    def summary(self) -> str:
        """Return a sentence that says what it does."""
        return self.header(f"{self.name}:")

    def header(self, field: str) -> str:
        """Return the KEYS[1], ARGV, ROLES or Returns of its contract, on one line."""
        said = re.search(_FIELD % re.escape(field), self.source.decode(), re.MULTILINE)
        return re.sub(r"\n-- +", " ", said[1]) if said else ""


def named(name: str, source: bytes) -> Script:
    """Return a script of that name and source."""
    return Script(name, source, sha1(source, usedforsecurity=False).hexdigest().encode())


def script(name: str) -> Script:
    """Return the script of that name."""
    return _scripts[name]


def names() -> list[str]:
    """Return the names of all scripts, sorted."""
    return sorted(_scripts)


def files() -> dict[str, bytes]:
    """Read all files, and return their texts: `owner/claim`, `parts/fence`, `parts/claim/plan`."""
    verbs = Path(__file__).parent
    found = sorted(verbs.rglob("*.lua"))
    return {f.relative_to(verbs).with_suffix("").as_posix(): f.read_bytes() for f in found}


def joined(files: Mapping[str, bytes]) -> dict[str, Script]:
    """Return the scripts that such texts make, by their names."""
    parts = {f.removeprefix(PARTS).encode(): t for f, t in files.items() if f.startswith(PARTS)}
    verbs = {f.rpartition("/")[2]: t for f, t in files.items() if not f.startswith(PARTS)}
    return {name: named(name, _joined(text, parts, set())) for name, text in verbs.items()}


def _joined(text: bytes, known: dict[bytes, bytes], used: set[bytes]) -> bytes:
    """Return a text with its parts inserted. used: the parts already inserted."""

    def parts(line: re.Match[bytes]) -> bytes:
        text, stand = b"", set(used) if line[1] else used
        for part in line[2].split(b", "):
            if part not in stand:
                stand.add(part)
                text += _joined(known[part], known, stand)
        return _LINE.sub(line[1], text)

    return _USES.sub(parts, text)


# Read once, when a process starts. Later they could be those of another version after an upgrade in
# place, or unreadable: removed by a deployment, or for lack of a descriptor.
_scripts = joined(files())
