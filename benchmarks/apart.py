"""Runs what would delay the calls that are measured in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

_LONGEST_S = 60.0


@contextmanager
def apart(work: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """Call it with these arguments and a connection, to which the one that is yielded leads.

    It is ended with the block.
    """
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(*arguments, there))
    process.start()
    try:
        yield here
    finally:
        process.terminate()
        process.join()


def answered(here: Connection) -> Any:
    """Return what it sends in the end. Raises RuntimeError if it does not end."""
    if not here.poll(_LONGEST_S):
        raise RuntimeError("a move did not end")
    return here.recv()
