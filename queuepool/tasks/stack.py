"""The text of an exception with its traceback, made once for each path that raises it.

To format a traceback takes longer than most failing jobs: the source is read, and parsed to mark
the expression. Bulk work fails in few places, so what was formatted for a stack is kept. A stack is
told by its code objects and instructions; the entry holds the code objects, so no identity is ever
used again while it is known.
"""

from __future__ import annotations

import traceback
from types import CodeType, TracebackType

MOST_FRAMES = 20
MOST_STACKS = 256  # more are forgotten, all at once

# The text of these depends on more than the stack: tracebacks inside, source, names nearby.
_OF_THEIR_OWN = (BaseExceptionGroup, SyntaxError, NameError)

_known: dict[tuple[int, ...], tuple[str, list[CodeType]]] = {}


def text_of(error: BaseException, callers: tuple[str, ...] = ()) -> str:
    """Return what the interpreter would print of an exception, its last frames, without causes.

    callers: how the names of files begin whose frames are left out at the start: of what called the
    handler, as that is the same for every job.
    """
    first = _first_of_handler(error.__traceback__, callers)
    if isinstance(error, _OF_THEIR_OWN):
        lines = traceback.format_exception(
            type(error), error, first, limit=-MOST_FRAMES, chain=False
        )
        return "".join(lines)
    return _stack_of(first) + "".join(traceback.format_exception_only(error))


def _first_of_handler(
    first: TracebackType | None, callers: tuple[str, ...]
) -> TracebackType | None:
    frame = first
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(callers):
        frame = frame.tb_next
    return frame or first  # it was raised by the caller itself


def _stack_of(last: TracebackType | None) -> str:
    codes: list[CodeType] = []
    key: list[int] = []
    frame = last
    while frame is not None:
        code = frame.tb_frame.f_code
        codes.append(code)
        key += (id(code), frame.tb_lasti)
        frame = frame.tb_next
    if last is None:
        return ""
    place = tuple(key[-2 * MOST_FRAMES :])
    entry = _known.get(place)
    if entry is None:
        lines = traceback.format_tb(last, limit=-MOST_FRAMES)
        entry = "Traceback (most recent call last):\n" + "".join(lines), codes[-MOST_FRAMES:]
        if len(_known) >= MOST_STACKS:
            _known.clear()
        _known[place] = entry
    return entry[0]
