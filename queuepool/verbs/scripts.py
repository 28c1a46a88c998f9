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
    parts = {
        f.removeprefix(PARTS).encode(): _USES.split(text)
        for f, text in files.items()
        if f.startswith(PARTS)
    }
    verbs = {f.rpartition("/")[2]: t for f, t in files.items() if not f.startswith(PARTS)}
    return {
        name: named(name, _joined(_USES.split(text), parts, set())) for name, text in verbs.items()
    }


def _joined(pieces: list[bytes], known: dict[bytes, list[bytes]], used: set[bytes]) -> bytes:
    """Return a text with its parts inserted. used: the parts already inserted.

    pieces: the text, split at the lines that name parts: text, (indent, names, text) ...
    """
    made = [pieces[0]]
    for indent, named_here, after in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        stand, inner = set(used) if indent else used, list[bytes]()
        for part in named_here.split(b", "):
            if part not in stand:
                stand.add(part)
                inner.append(_joined(known[part], known, stand))
        text = b"".join(inner)
        made += (_LINE.sub(indent, text) if indent else text, after)
    return b"".join(made)


# Read once, when a process starts. Later they could be those of another version after an upgrade in
# place, or unreadable: removed by a deployment, or for lack of a descriptor.
_scripts = joined(files())
