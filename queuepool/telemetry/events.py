"""How components report events: typed, and emitted to listeners.

A decision never logs and never counts; metrics, logs and tests listen. An event is a frozen
dataclass of the component that emits it (consumer.core.events, coordinator.core.events).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

Listener = Callable[[object], None]

_log = logging.getLogger("queuepool.events")


def fan_out(listeners: Iterable[Listener]) -> Listener:
    """Return one listener that calls all; a failing one is logged and never stops a loop."""
    called = tuple(listeners)

    def emit(event: object) -> None:
        for listener in called:
            try:
                listener(event)
            except Exception:
                _log.exception("an event listener failed on %s", type(event).__name__)

    return emit


def ignore(event: object) -> None:
    """Ignore the event."""
