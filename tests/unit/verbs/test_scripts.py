"""A process uses the scripts that were there when it started, whatever becomes of their files."""

from __future__ import annotations

import builtins
import errno
import io
import os
from typing import Any

import pytest

from queuepool.verbs import scripts


def test_no_script_is_read_from_a_file_after_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_start = scripts.joined(scripts.files())

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EMFILE, "too many open files")

    for module, name in ((builtins, "open"), (io, "open"), (os, "open"), (os, "scandir")):
        monkeypatch.setattr(module, name, fail)
    scripts.script.cache_clear()
    later = {name: scripts.script(name) for name in scripts.names()}
    monkeypatch.undo()

    assert later == at_the_start
