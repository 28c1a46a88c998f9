"""The inputs that are kept: an input a line, its bytes as a literal of Python.

corpus/TARGET.txt         as few as reach all the code that is known to be reached; made again
corpus/TARGET-found.txt   those that found a defect, permanently
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def all_of(target: str) -> list[bytes]:
    """Return every input of a target."""
    return [*read(found(target)), *read(target)]


def found(target: str) -> str:
    """Return the name of the file for inputs that found a defect."""
    return f"{target}-found"


def read(name: str, folder: Path = FOLDER) -> list[bytes]:
    """Return the inputs of a file; none when there is no such file."""
    path = folder / f"{name}.txt"
    lines = path.read_text("ascii").splitlines() if path.exists() else []
    return [ast.literal_eval(line) for line in lines]


def write(name: str, inputs: Iterable[bytes], folder: Path = FOLDER) -> None:
    """Replace the inputs of a file; the shortest come first, and none twice."""
    kept = sorted(set(inputs), key=lambda data: (len(data), data))
    text = "".join(f"{data!r}\n" for data in kept)
    (folder / f"{name}.txt").write_text(text, "ascii")
