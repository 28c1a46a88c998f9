"""Marks: what scripts write to the server's log, once a call, when they reach a line.

A line has a mark if a statement begins there. Lines that end or divide a statement (`end`, `else`)
have none, nor have those in the middle of one: nothing is known of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from queuepool.verbs.scripts import Script, joined, named
from tests.mutation.mutants import CLOSER, code

Marks = Mapping[str, frozenset[int]]  # lines from 1, by file
Reach = Mapping[str, frozenset[int]]
Compiles = Callable[[str, Iterable[bytes]], list[bool]]

_MARK = re.compile(rb"@reached (\S+):(\d+)")
_FIRST = b"\nlocal REACHED = {} "


def possible(file: str, text: bytes, compile_each: Compiles) -> frozenset[int]:
    """Return the lines of a file that can have a mark."""
    lines = text.split(b"\n")
    candidates = [n + 1 for n in code(lines) if not CLOSER.match(lines[n].strip())]
    replies = compile_each(file, [_marked(file, text, {n}) for n in candidates])
    return frozenset(n for n, compiles in zip(candidates, replies, strict=True) if compiles)


def marked(files: Mapping[str, bytes], marks: Marks) -> dict[str, Script]:
    """Return all scripts, with marks."""
    texts = {file: _marked(file, text, marks.get(file, ())) for file, text in files.items()}
    return {name: begun(script) for name, script in joined(texts).items()}


def begun(script: Script) -> Script:
    """Return a script that has marks as one that remembers which it has written."""
    return named(script.name, script.source.replace(b"\n", _FIRST, 1))


def reached(log: bytes) -> Reach:
    """Return the lines whose marks are in a log."""
    found: dict[str, set[int]] = defaultdict(set)
    for file, line in set(_MARK.findall(log)):
        found[file.decode()].add(int(line))
    return {file: frozenset(lines) for file, lines in found.items()}


def _marked(file: str, text: bytes, marks: Iterable[int]) -> bytes:
    return b"\n".join(_with_marks(file, text.split(b"\n"), frozenset(marks)))


def _with_marks(file: str, lines: list[bytes], marks: frozenset[int]) -> Iterator[bytes]:
    for number, line in enumerate(lines, 1):
        if number not in marks:
            yield line
            continue
        place = f"'{file}:{number}'"
        log = f"redis.log(3, '@reached ' .. {place})"
        mark = f"if not REACHED[{place}] then REACHED[{place}] = 1 {log} end "
        rest = line.lstrip()
        yield line[: len(line) - len(rest)] + mark.encode() + rest
