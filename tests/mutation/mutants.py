"""From a Lua file to its mutants. Pure, but for the question whether a text compiles.

Dropped is one line of code; or the whole statement that begins on it, where the line alone leaves
no Lua. A line that ends or divides a statement (`end`, `else`) is dropped alone or not at all. The
first line of a verb's file says what the server allows the script, and loses its flags; without
any, it gains one: dropped altogether it would choose the old dialect, in which the first write's
kind decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Compiles = Callable[[bytes], bool]

CLOSER = re.compile(rb"(end|else|elseif|until)\b|[)}]")
_FLAGLESS = b"#!lua"
# What is written, and what the mutant has instead.
_OPERATORS = (
    (rb"<=", b"<"), (rb">=", b">"), (rb"(?<![<>=~])<(?!=)", b"<="), (rb"(?<![<>=~-])>(?!=)", b">="),
    (rb"==", b"~="), (rb"~=", b"=="), (rb" and ", b" or "), (rb" or ", b" and "),
    (rb" \+ 1\b", b""), (rb" - 1\b", b""), (rb"'NX'", b"'XX'"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change. line: where, from 1; text: the original text."""

    file: str
    line: int
    text: str
    source: bytes

    def __str__(self) -> str:
        return f"{self.file}.lua:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Mutants:
    """The mutants of one file, and how many lines could not be dropped alone."""

    mutants: tuple[Mutant, ...]
    not_compiling: int


def without_lines(file: str, source: bytes, compiles: Compiles) -> Mutants:
    """Return a mutant for each line of code, or for the statement that begins on it."""
    lines, broken = source.split(b"\n"), 0
    made = []
    if lines[0].startswith(_FLAGLESS):  # a verb's, not a part's
        flags = _FLAGLESS if lines[0] != _FLAGLESS else _FLAGLESS + b" flags=allow-oom"
        made.append(Mutant(file, 1, _text(lines[0]), b"\n".join([flags, *lines[1:]])))
    for i in code(lines):
        for last in range(i, len(lines)):
            mutant = _dropped(file, lines, i, last)
            if compiles(mutant.source):
                made.append(mutant)
                break
            broken += last == i
            if CLOSER.match(lines[i].strip()):
                break  # it ends or divides a statement that began above
    return Mutants(tuple(made), broken)


def with_other_operators(file: str, source: bytes, compiles: Compiles) -> Mutants:
    """Return a mutant for each operator that can be changed: `<=` to `<`, `+ 1` to nothing."""
    lines, made, broken = source.split(b"\n"), [], 0
    for i in code(lines):
        written, _, _comment = lines[i].partition(b" --")
        for pattern, instead in _OPERATORS:
            for found in re.finditer(pattern, written):
                line = written[: found.start()] + instead + written[found.end() :]
                text = f"{_text(written)}  [{found[0].decode()} at {found.start() + 1}]"
                changed = b"\n".join([*lines[:i], line, *lines[i + 1 :]])
                if compiles(changed):
                    made.append(Mutant(file, i + 1, text, changed))
                else:
                    broken += 1
    return Mutants(tuple(made), broken)


def code(lines: list[bytes]) -> Iterator[int]:
    """Yield the indices of lines of code."""
    for i, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith((b"--", _FLAGLESS)):
            yield i


def _dropped(file: str, lines: list[bytes], first: int, last: int) -> Mutant:
    rest = [*lines[:first], *[b""] * (last - first + 1), *lines[last + 1 :]]
    return Mutant(file, first + 1, _text(lines[first]), b"\n".join(rest))


def _text(line: bytes) -> str:
    return line.strip().decode()
