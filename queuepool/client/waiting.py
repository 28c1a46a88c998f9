"""Waiting for an end: repeated looks, for no longer than the caller wants to wait.

A server that does not answer keeps no caller waiting beyond the timeout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from queuepool.client.arguments import check_wait
from queuepool.client.effects import Pause, Steps
from queuepool.errors import MovedError, UnavailableError, WaitTimeoutError

T = TypeVar("T")

_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _GROWTH = 0.005, 0.25, 1.5
_GRACE_S = 1.0  # at the end, too, a connection that broke is replaced


def wait_for(
    look: Callable[[], Steps[T]],
    timeout_s: float | None,
    *,
    has_ended: Callable[[T], bool],
    left: Callable[[T], str],
) -> Steps[T]:
    """Look, with pauses that grow, until what is seen has ended; return it.

    timeout_s: None for no limit. left: describes what has not ended by then, for the error.
    The last look is at the deadline. Raises WaitTimeoutError; InvalidInputError for an invalid
    timeout.
    """
    deadline_s = math.inf
    if timeout_s is not None:
        deadline_s = monotonic() + check_wait("timeout_s", timeout_s)
    pause_s = _FIRST_PAUSE_S
    while True:
        seen = yield from _until(deadline_s, look())
        if has_ended(seen):
            return seen
        rest_s = deadline_s - monotonic()
        if rest_s <= 0:
            raise WaitTimeoutError(f"after {timeout_s:g} s, {left(seen)}")
        yield Pause(min(pause_s, rest_s))
        pause_s = min(_LONGEST_PAUSE_S, pause_s * _GROWTH)


def _until(deadline_s: float, steps: Steps[T]) -> Steps[T]:
    # Steps that only read. Until the deadline, calls that fail are made again as usual; a newer
    # route is followed even then, since that server answered.
    answer: Any = None
    while True:
        try:
            effect = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        answer = yield effect
        silent = isinstance(answer, UnavailableError) and not isinstance(answer, MovedError)
        if silent and monotonic() > deadline_s + _GRACE_S:
            raise answer
