"""A thread that the machine refuses is one kind of error, whatever the interpreter raises."""

import threading

import pytest

from queuepool.errors.hindrances import NoThreadError, start_thread


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_a_refused_thread_is_a_hindrance_and_may_be_started_later(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    thread = threading.Thread(target=lambda: None)

    def refuse(_: threading.Thread) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(
            NoThreadError, match=r"no thread for a test \((can't start new thread|no memory)\)"
        ):
            start_thread(thread, "for a test")

    start_thread(thread, "for a test")
    thread.join(60)
    assert thread.ident is not None
