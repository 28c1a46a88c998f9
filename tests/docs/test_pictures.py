"""The pictures of docs/pictures.md are what commands print today.

PICTURES=write draws them again, and the difference is for review.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from coordinator.decisions.explain import sentences
from coordinator.simulator.request import Request, answer
from queuepool.cli.display import fields
from queuepool.cli.display.board import Board
from queuepool.cli.display.finding import print_digest
from queuepool.cli.display.output import console, say
from queuepool.cli.display.view import ClusterView, PartitionRow
from queuepool.models import JobId
from queuepool.models.finding import Digest, ErrorCount
from tests.docs.drawing import drawn
from tests.paths import ROOT
from tests.unit.coordinator.decisions.runs import Story, bursts

HERE = ROOT / "docs" / "pictures"
NOW_S = 1_795_429_800.0  # of a Monday morning
NOW_MS = round(NOW_S * 1000)

_BULK = """
name = "a bulk of 40,000 jobs"
until_s = 300
workers = 8

[[streams]]
name = "bulk"
service_s = 0.12
arrivals = [{at_s = 20, count = 40000}]

[[streams]]
name = "steady"
service_s = 0.12
arrivals = [{until_s = 300, per_s = 60}]
"""


def overview() -> None:
    """Print the table of `queuepool watch`, amid a bulk."""
    owner: dict[str, Any] = {"lease_ms": 9_000, "epoch": 1}

    def view(workers: int) -> ClusterView:
        quiet: dict[str, Any] = {
            "workers": 8,
            "target": 8,
            "busy": 3,
            "per_s": 61.0,
            "oldest_s": 0.2,
        }
        bulk: dict[str, Any] = {
            "workers": workers,
            "target": 64,
            "busy": workers,
            "per_s": workers * 8.3,
        }
        rows = tuple(
            PartitionRow(
                partition=number, server="main", owner=f"consumer-{number}:1", **owner,
                **(bulk | {"backlog": 31_250, "oldest_s": 41.0} if number == 1 else quiet),
                dead=3 if number == 2 else 0,
            )
            for number in range(4)
        )  # fmt: skip
        return ClusterView(source="servers", leader="coordinator-0:1", leader_epoch=1, rows=rows)

    board, screen = Board(), console()
    for workers in (*[8] * 8, 12, 24, 40, *[64] * 10):
        board.note(view(workers))
    screen.print(board.draw(view(64), sparks=True, width=screen.width))


def decision() -> None:
    """Print the decision of a story that goes up most steeply, as `queuepool why` does."""
    steps = [r for r in Story().run(120, bursts) if r.previous and r.policy == "sized"]
    found = max(steps, key=lambda record: record.target - record.previous)
    say(f"partition 0, {fields.when(NOW_MS - 480_000)}")
    for sentence in sentences(found):
        say(f"  {sentence}")


def digest() -> None:
    """Print the dead jobs in short."""

    def error(name: str, kind: str, message: str, dead: int, minutes: int) -> ErrorCount:
        return ErrorCount(
            fingerprint=name, task="send_mail", reason="failed", type=kind, message=message,
            dead=dead, retrying=dead // 3, first_ms=NOW_MS - minutes * 60_000,
            last_ms=NOW_MS - 20_000, example=JobId(f"gD4.kPq0Zs_1x{name[0]}"),
        )  # fmt: skip

    errors = (
        error("b41f09c2", "HTTPStatusError", "503 Service Unavailable", 1_204, 26),
        error("7ce2a815", "InvalidAddress", "no @ in the address", 31, 190),
    )
    print_digest(
        Digest(
            dead=1_235, oldest_ms=NOW_MS - 190 * 60_000, newest_ms=NOW_MS - 20_000,
            tasks=(("send_mail", 1_235),), reasons=(("failed", 1_235),), errors=errors,
            is_exact=True,
        )
    )  # fmt: skip


TEXTS: dict[str, tuple[str, Callable[[], None]]] = {
    "overview": ("queuepool watch", overview),
    "decision": ("queuepool why 0", decision),
    "dead-digest": ("queuepool dead digest", digest),
}


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW_S)
    monkeypatch.setattr(fields, "LOCAL", UTC)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize("name", TEXTS)
def test_a_picture_is_what_the_command_prints(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, show = TEXTS[name]

    show()

    check(f"{name}.svg", drawn(command, capsys.readouterr().out))


def test_the_curve_of_a_bulk_is_what_the_simulator_draws() -> None:
    request = Request(policies=["sized"], scenarios=["bulk.toml"], chart=True)

    found = answer(request, lambda _name: _BULK)["results"]

    check("bulk.svg", found[0]["chart"])


def test_the_page_shows_every_picture_and_no_other() -> None:
    page = (ROOT / "docs" / "pictures.md").read_text()

    for picture in sorted(HERE.glob("*.svg")):
        assert f"(pictures/{picture.name})" in page
    assert page.count("](pictures/") == len(list(HERE.iterdir()))


def check(name: str, picture: str) -> None:
    path: Path = HERE / name
    if os.environ.get("PICTURES") == "write":
        HERE.mkdir(exist_ok=True)
        path.write_text(picture)
    assert picture == path.read_text()
