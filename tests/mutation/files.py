"""The Lua files, and the scripts that come out otherwise when some of them are changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from queuepool.verbs.scripts import PARTS, Script, files, joined

_MARK = re.compile(rb"-- here: (.+)")


def texts() -> dict[str, bytes]:
    """Return the text of each file by its name: `owner/claim`, `parts/claim/plan`."""
    return _texts


@cache
def users() -> dict[str, frozenset[str]]:
    """Return the names of the scripts that a file is in, by the name of the file."""
    marked = {name: text + b"\n-- here: %s\n" % name.encode() for name, text in texts().items()}
    found: dict[str, set[str]] = {name: set() for name in marked}
    for script in joined(marked).values():
        for name in _MARK.findall(script.source):
            found[name.decode()].add(script.name)
    return {name: frozenset(scripts) for name, scripts in found.items()}


def changed(instead: Mapping[str, bytes], only: str = "") -> dict[str, Script]:
    """Return every script that uses one of these files, with these texts instead, by its name."""
    wanted = {only} if only else {script for name in instead for script in users()[name]}
    known = {n: t for n, t in texts().items() if n.startswith(PARTS) or _stem(n) in wanted}
    return joined({**known, **instead})


def _stem(name: str) -> str:
    return name.rpartition("/")[2]


def named(wishes: Sequence[str]) -> list[str]:
    """Return the files of these names, and those in the folders of these names; all for none.

    Raises LookupError when a name is neither.
    """
    found: list[str] = []
    for wish in wishes or [""]:
        folder = wish and f"{wish.rstrip('/')}/"
        those = [name for name in texts() if name == wish or name.startswith(folder)]
        if not those:
            raise LookupError(f"no Lua file and no folder is named {wish!r}")
        found += those
    return list(dict.fromkeys(found))


_texts = files()  # read once, as the scripts are
