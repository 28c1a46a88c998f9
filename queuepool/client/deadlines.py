"""A caller who waits for so long is not kept waiting by a server that does not answer."""

from __future__ import annotations

from time import monotonic
from typing import Any, TypeVar

from queuepool.client.effects import Steps
from queuepool.errors import MovedError, UnavailableError

T = TypeVar("T")

_GRACE_S = 1.0  # at the end, too, a connection that broke is replaced


def until(deadline_s: float, steps: Steps[T]) -> Steps[T]:
    """Run steps that only read; raise their UnavailableError once a call fails after the deadline.

    Until then they try again as usual. A newer route is followed even then: that server answered.
    """
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
