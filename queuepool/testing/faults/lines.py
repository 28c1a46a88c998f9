"""Follows the lines of the application's own code, and acts before one of them."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

_MOST = 5_000  # lines of an execution; those after them are run, but not disturbed
_LIBRARIES = tuple(
    {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {str(Path(__file__).parents[2])}
)


class Own:
    """Tells which code is the application's: that of its tasks' packages, and of no library."""

    def __init__(self, modules: Iterable[str]) -> None:
        """modules: where tasks are defined; their packages count wherever they are installed."""
        self._packages = {name.partition(".")[0] for name in modules}
        self._known: dict[str, bool] = {}

    def __call__(self, frame: FrameType) -> bool:
        """Return whether the frame runs the application's code."""
        code = frame.f_code
        if code.co_name == "<module>":
            return False  # an import, which happens once
        file = code.co_filename
        if file not in self._known:
            package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            outside = not file.startswith(("<frozen", "<string", *_LIBRARIES))
            self._known[file] = outside or (package in self._packages and package != "queuepool")
        return self._known[file]


class Lines:
    """A context in which this thread's lines are noted, and `act` is called before one of them.

    seen: the lines so far, as "file:line".
    """

    def __init__(self, own: Own, at: int | None = None, act: Callable[[], None] | None = None):
        self.seen: list[str] = []
        self._own, self._at, self._act = own, at, act
        self._before: Any = None

    def __enter__(self) -> Lines:
        self._before = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        sys.settrace(self._before)

    def _on_call(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._on_line if event == "call" and self._own(frame) else None

    def _on_line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and len(self.seen) < _MOST:
            self.seen.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
            if len(self.seen) - 1 == self._at and self._act is not None:
                self._act()
        return self._on_line
