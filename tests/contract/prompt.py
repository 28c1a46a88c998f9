"""Tests that take a server's clock at its word: they hold if nothing stands still meanwhile."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import monotonic
from typing import Any

_ATTEMPTS = 5
Test = Callable[..., None]


def prompt(within_s: float) -> Callable[[Test], Test]:
    """Try a test again, from an empty server, when it failed and had taken longer than this.

    A failure of a test that was quick is one of what it tests; in memory, time stands still.
    """

    def made(test: Test) -> Test:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            world = given["world"]
            for _ in range(_ATTEMPTS - 1):
                began_s = monotonic()
                try:
                    return test(**given)
                except AssertionError:
                    if world.in_memory or monotonic() - began_s < within_s:
                        raise
                world.client.flushall()
                world.books_of.clear()
            return test(**given)

        return run

    return made
