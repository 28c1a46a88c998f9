"""The Lua scripts: one verb each, beside its wrapper, with its contract at the top of the file.

All of them are read when this module is imported, and never again; each is joined at its first use.

What several scripts do is written once, in `parts`. A line of a script names those it uses, and is
replaced by them when the script is loaded: each once per script, after those that it uses itself:

    -- uses: fence, end_cancelled

An indented line includes parts only for the block around it. Servers are sent neither indentation
nor lines that are comments, since a link may be slow.

The phases of a long script are also parts, in a folder named after it: `claim/plan`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha1
from pathlib import Path

from msgspec import Struct

PARTS = "parts/"  # the other folders are named after who calls what is in them
_USES = re.compile(rb"^( *)-- uses: (.+)\n", re.MULTILINE)
_FIELD = r"^-- %s +(.*(?:\n--  +.*)*)"  # continues in lines that are indented
_LINE = re.compile(rb"^(?=.)", re.MULTILINE)
_UNNEEDED = re.compile(rb"^ *--.*\n|^ +", re.MULTILINE)  # indentation, lines of comments


class Script(Struct, frozen=True):
    """One script, its parts included.

    source: with its comments, as people read it. code: what servers are sent, 30 % shorter. sha:
    the SHA-1 of the code, by which servers know it.
    """

    name: str
    source: bytes
    code: bytes
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
    code = _UNNEEDED.sub(b"", source)
    return Script(name, source, code, sha1(code, usedforsecurity=False).hexdigest().encode())


@cache
def script(name: str) -> Script:
    """Return the script of that name."""
    return _texts.joined(name)


def names() -> list[str]:
    """Return the names of all scripts, sorted."""
    return sorted(_texts.verbs)


def files() -> dict[str, bytes]:
    """Read all files, and return their texts: `owner/claim`, `parts/fence`, `parts/claim/plan`."""
    verbs = Path(__file__).parent
    found = sorted(verbs.rglob("*.lua"))
    return {f.relative_to(verbs).with_suffix("").as_posix(): f.read_bytes() for f in found}


def joined(files: Mapping[str, bytes]) -> dict[str, Script]:
    """Return the scripts that such texts make, by their names."""
    texts = _Texts(files)
    return {name: texts.joined(name) for name in texts.verbs}


class _Texts:
    """Texts of files: those of verbs by their names, those of parts by what scripts call them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.verbs = {f.rpartition("/")[2]: t for f, t in files.items() if not f.startswith(PARTS)}
        self._parts = {
            f.removeprefix(PARTS).encode(): t for f, t in files.items() if f.startswith(PARTS)
        }

    def joined(self, name: str) -> Script:
        """Return a script. Raises KeyError for an unknown name or part."""
        return named(name, self._joined(self.verbs[name], set()))

    def _joined(self, text: bytes, used: set[bytes]) -> bytes:
        """Return a text with its parts inserted. used: the parts already inserted."""
        pieces = _USES.split(text)  # text, (indent, names, text) ...
        made = [pieces[0]]
        for indent, names, after in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            stand, inner = set(used) if indent else used, list[bytes]()
            for part in names.split(b", "):
                if part not in stand:
                    stand.add(part)
                    inner.append(self._joined(self._parts[part], stand))
            inserted = b"".join(inner)
            made += (_LINE.sub(indent, inserted) if indent else inserted, after)
        return b"".join(made)


# Read once, when a process starts. Later they could be those of another version after an upgrade in
# place, or unreadable: removed by a deployment, or for lack of a descriptor.
_texts = _Texts(files())
