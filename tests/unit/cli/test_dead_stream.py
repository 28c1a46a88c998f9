"""`dead list --json` prints jobs as they are read: any number of them takes little memory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from queuepool.cli.commands import dead
from queuepool.models import DeadJob
from tests.unit.cli.pictures import died


def test_a_job_is_printed_before_the_next_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[str] = []

    def jobs(*_: Any) -> Iterator[DeadJob]:
        for name in ("first", "second", "third"):
            printed.append(capsys.readouterr().out)
            yield died(name, "k", "send")

    monkeypatch.setattr(dead, "matching", jobs)
    monkeypatch.setattr(dead, "open_pool", nullcontext)

    dead.run_list(argparse.Namespace(json=True, limit=2))

    assert [("first" in text, "second" in text) for text in printed] == [
        (False, False),
        (True, False),
    ]
    assert "second" in capsys.readouterr().out
