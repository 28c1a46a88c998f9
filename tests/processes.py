"""Processes that a test starts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process, whose text streams are str; a test that fails kills it.

    Popen alone would wait for it, for as long as it likes.
    """
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
