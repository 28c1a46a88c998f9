"""A stream of a coordinator is left, whatever ends the listening."""

from __future__ import annotations

import threading

import pytest

from queuepool.errors.hindrances import NoThreadError
from queuepool.rpc.listening import Listening


class Stream:
    """An open stream that says nothing and notes that it was left."""

    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


def test_a_stream_that_nobody_can_guard_is_not_kept_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    stream = Stream()
    listening = Listening(stream, threading.Event())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(NoThreadError, match="silent coordinator"):
            next(iter(listening))

    assert stream.cancelled
